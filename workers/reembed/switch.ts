/** `rag-serving reembed switch` and `rollback`: what readers find under the name of the base, turned in one step and turned back. */
import { systemClock } from '../../src/clock.ts';
import type { Env } from '../../src/config/env-reader.ts';
import { ServingError } from '../../src/errors.ts';
import { type Changeover, updateChangeover } from '../../src/sinks/changeover.ts';
import { type ExitCode, exitCodes } from '../exit-codes.ts';
import { isConfirmed, refuseSilence } from '../tool/confirm.ts';
import { table } from '../tool/table.ts';
import { factsOf } from './facts.ts';
import { judge } from './guard.ts';
import { lagOf, look, type Tool, withTool } from './open.ts';
import { groupOf } from './shadow.ts';

type TurnFlags = { readonly dryRun?: true; readonly yes?: true; readonly json?: true };
export type RollbackFlags = TurnFlags;
export type SwitchFlags = TurnFlags & {
  readonly to: string;
  readonly tolerance: number;
  readonly maxLag: number;
  readonly sample: number;
  readonly force?: true;
};

export function runSwitch(flags: SwitchFlags, env: Env): Promise<ExitCode> {
  if (flags.dryRun !== true) refuseSilence(flags.yes === true);
  return withTool(env, async (tool, signal) => {
    const findings = judge(await factsOf(tool, flags.to, flags.sample, signal), flags);
    if (flags.json !== true) {
      const rows = findings.map(({ check, ok, says }) => [ok ? 'ok' : 'FAILS', check, says]);
      // Not as a table: what a check says is longer than a cell.
      for (const [state = '', check = '', says] of rows) {
        process.stdout.write(`${state.padEnd(6)} ${check.padEnd(12)} ${says}\n`);
      }
    }
    const failed = findings.filter(({ ok }) => !ok).map(({ check }) => check);
    if (failed.length > 0 && flags.force !== true) {
      if (flags.json === true) tell(flags, { event: 'reembed-switch', to: flags.to, done: false, findings });
      const message = `not switched: ${failed.join(', ')} ${failed.length === 1 ? 'fails' : 'fail'}; mend it as said, or add --force to switch all the same`;
      process.stderr.write(`${message}\n`);
      return exitCodes.failed;
    }
    return turn(tool, flags, flags.to, { event: 'reembed-switch', findings }, signal);
  });
}

export function runRollback(flags: RollbackFlags, env: Env): Promise<ExitCode> {
  if (flags.dryRun !== true) refuseSilence(flags.yes === true);
  return withTool(env, async (tool, signal) => {
    const { changeover, base, config } = tool;
    const { previous } = changeover;
    if (previous === undefined)
      throw argument(`readers of ${base} were never switched: there is nothing to go back to`);
    const there = await look(tool, previous, signal);
    await there?.sink.close();
    if (there === undefined) throw argument(`${previous}, which readers found before, does not exist any more`);
    const lag = await lagOf(tool, groupOf(config.kafka.consumerGroup, previous, changeover));
    const { rows, fingerprint } = there.description;
    if (flags.json !== true) {
      const cells = [previous, String(rows), fingerprint, lag === undefined ? undefined : String(lag)];
      process.stdout.write(table(['BACK TO', 'ROWS', 'FINGERPRINT', 'LAG'], [cells]));
    }
    return turn(tool, flags, previous, { event: 'reembed-rollback' }, signal);
  });
}

async function turn(
  { admin, base, changeover }: Tool,
  flags: TurnFlags,
  to: string,
  about: Readonly<Record<string, unknown>>,
  signal: AbortSignal,
): Promise<ExitCode> {
  const from = changeover.current ?? base;
  const said = { ...about, base, from, to };
  if (flags.dryRun === true) {
    tell(flags, { ...said, done: false, dryRun: true }, `would switch readers of ${base} from ${from} to ${to}`);
    return exitCodes.done;
  }
  if (!(await isConfirmed(`Switch readers of ${base} from ${from} to ${to}?`, flags.yes === true, signal))) {
    process.stderr.write('nothing was switched\n');
    return exitCodes.done;
  }
  const apply = (now: Changeover): Changeover => {
    if ((now.current ?? base) !== from) {
      throw new ServingError(
        'ARGUMENT_INVALID',
        `somebody switched readers to ${now.current} meanwhile: look again with rag-serving reembed status`,
      );
    }
    return { ...now, current: to, previous: from, switchedAtMs: systemClock.wallMs() };
  };
  await updateChangeover(admin, base, apply, signal);
  tell(flags, { ...said, done: true }, `readers of ${base} find ${to}; back with: rag-serving reembed rollback`);
  return exitCodes.done;
}

function tell({ json }: TurnFlags, event: Readonly<Record<string, unknown>>, text = ''): void {
  process.stdout.write(json === true ? `${JSON.stringify(event)}\n` : `${text}\n`);
}

function argument(message: string): ServingError {
  return new ServingError('ARGUMENT_INVALID', message);
}
