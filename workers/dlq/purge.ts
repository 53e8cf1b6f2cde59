/** `rag-serving dlq purge`: deletes the beginning of the dead-letter topic. */
import type { Env } from '../../src/config/env-reader.ts';
import { readMarks } from '../../src/kafka/redrive.ts';
import { type ExitCode, exitCodes } from '../exit-codes.ts';
import { filterOf } from '../letters/filter-options.ts';
import { isConfirmed, refuseSilence } from '../tool/confirm.ts';
import { scan, withDlq } from './open.ts';
import { checkPurge, type PurgeFlags, PurgePlan } from './purge-plan.ts';

export type PurgeCommandFlags = PurgeFlags & {
  readonly dryRun?: true;
  readonly yes?: true;
  readonly json?: true;
};

export function runPurge(flags: PurgeCommandFlags, env: Env): Promise<ExitCode> {
  const dryRun = flags.dryRun === true;
  // As if there were one partition: what is wrong whatever the topic is, is told without asking for it.
  checkPurge(flags, 1);
  if (!dryRun) refuseSilence(flags.yes === true);
  return withDlq(env, async (opened, signal) => {
    checkPurge(flags, opened.bounds.size);
    const marks = await readMarks(opened, signal);
    const plan = new PurgePlan(flags, (letter) => marks.of(letter) !== undefined);
    const { partition, offset } = flags;
    const filter = filterOf({ ...(partition && { partition }), ...(offset && { offset }) });
    await scan(
      opened,
      filter,
      undefined,
      async (letters) => {
        for (const letter of letters) plan.add(letter);
        return 'more';
      },
      signal,
    );
    const before = plan.before(opened.bounds);
    const what = `${plan.letters} dead letters of ${opened.deadLetterTopic}, ${plan.pending} of them never replayed`;
    if (!dryRun && before.size > 0) {
      if (!(await isConfirmed(`Delete ${what}?`, flags.yes === true, signal))) {
        process.stderr.write('nothing was deleted\n');
        return exitCodes.done;
      }
      await opened.admin.deleteRecords(opened.deadLetterTopic, before);
    }
    const upTo = Object.fromEntries(Array.from(before, ([one, end]) => [one, String(end)]));
    const { letters, pending } = plan;
    process.stdout.write(
      flags.json === true
        ? `${JSON.stringify({ event: 'purge', dryRun, letters, neverReplayed: pending, before: upTo })}\n`
        : `${dryRun ? 'would delete' : 'deleted'} ${what}\n`,
    );
    return exitCodes.done;
  });
}
