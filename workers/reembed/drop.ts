/** `rag-serving reembed drop`: takes a collection that nobody reads and nobody fills out of the store. */
import type { Env } from '../../src/config/env-reader.ts';
import { ServingError } from '../../src/errors.ts';
import { refuseLiveGroup } from '../../src/kafka/group-control.ts';
import { type Changeover, updateChangeover } from '../../src/sinks/changeover.ts';
import { type ExitCode, exitCodes } from '../exit-codes.ts';
import { isConfirmed, refuseSilence } from '../tool/confirm.ts';
import { look, withTool } from './open.ts';
import { groupOf } from './shadow.ts';

export type DropFlags = {
  readonly collection: string;
  readonly dryRun?: true;
  readonly yes?: true;
  readonly json?: true;
};

export function runDrop({ collection, dryRun, yes, json }: DropFlags, env: Env): Promise<ExitCode> {
  if (dryRun !== true) refuseSilence(yes === true);
  return withTool(env, async (tool, signal) => {
    const { admin, base, changeover, config, kafka } = tool;
    const known = [base, changeover.previous, ...Object.keys(changeover.runs)];
    if (collection === (changeover.current ?? base))
      throw argument(`${collection} is what readers of ${base} find: switch them first`);
    if (!known.includes(collection))
      throw argument(`${collection} is no collection of ${base}: see rag-serving reembed status`);
    if (kafka !== undefined) await refuseLiveGroup(kafka, groupOf(config.kafka.consumerGroup, collection, changeover));
    const there = await look(tool, collection, signal);
    await there?.sink.close();
    const rows = there?.description.rows ?? 0;
    const back = collection === changeover.previous ? ', after which there is no rollback' : '';
    const what = `${collection} with ${rows} rows${back}`;
    if (dryRun !== true) {
      if (!(await isConfirmed(`Drop ${what}?`, yes === true, signal))) {
        process.stderr.write('nothing was dropped\n');
        return exitCodes.done;
      }
      const forget = (now: Changeover): Changeover => {
        if (collection === (now.current ?? base))
          throw argument(`somebody switched readers to ${collection} meanwhile`);
        const { [collection]: _, ...runs } = now.runs;
        return { ...now, runs, previous: now.previous === collection ? undefined : now.previous };
      };
      // First, so that nobody can switch to what is on its way out.
      await updateChangeover(admin, base, forget, signal);
      await admin.drop(collection, signal);
    }
    const said = { event: 'reembed-drop', base, collection, rows, dryRun: dryRun === true };
    process.stdout.write(
      json === true ? `${JSON.stringify(said)}\n` : `${dryRun === true ? 'would drop' : 'dropped'} ${what}\n`,
    );
    return exitCodes.done;
  });
}

function argument(message: string): ServingError {
  return new ServingError('ARGUMENT_INVALID', message);
}
