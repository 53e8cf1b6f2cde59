/** `rag-serving retries run-now` and `drop`: one deed on each retry that is meant, and what became of it. */
import type { Env } from '../../src/config/env-reader.ts';
import type { AdminOutcome, RetryAdmin } from '../../src/retry/retry-admin.ts';
import { type ExitCode, exitCodes } from '../exit-codes.ts';
import { type FilterFlags, filterOf } from '../letters/filter-options.ts';
import { isConfirmed, refuseSilence } from '../tool/confirm.ts';
import { meantRetries, type NamedRetry, withRetries } from './open.ts';

export type ChangeFlags = FilterFlags & {
  readonly limit?: number;
  readonly dryRun?: true;
  readonly yes?: true;
  readonly json?: true;
};

type Change = {
  readonly event: 'run-now' | 'drop';
  readonly done: string;
  readonly busy: string;
  readonly asks: boolean;
  readonly meant: (retry: NamedRetry) => boolean;
  readonly deed: (admin: RetryAdmin, id: string) => Promise<AdminOutcome>;
};

const RUN_NOW: Change = {
  event: 'run-now',
  done: 'made due',
  busy: 'were due already',
  asks: false,
  meant: ({ state }) => state === 'delayed',
  deed: (admin, id) => admin.runNow(id),
};

const DROP: Change = {
  event: 'drop',
  done: 'dropped',
  busy: 'are being run by a worker and were left',
  asks: true,
  meant: () => true,
  deed: (admin, id) => admin.drop(id),
};

export const runRetriesNow = (flags: ChangeFlags, env: Env): Promise<ExitCode> => change(RUN_NOW, flags, env);

export const runRetriesDrop = (flags: ChangeFlags, env: Env): Promise<ExitCode> => change(DROP, flags, env);

function change(what: Change, flags: ChangeFlags, env: Env): Promise<ExitCode> {
  const dryRun = flags.dryRun === true;
  const mustAsk = what.asks && !dryRun;
  if (mustAsk) refuseSilence(flags.yes === true);
  return withRetries(env, async (admin, signal) => {
    // Only their ids: each may hold a message of a megabyte.
    const ids: string[] = [];
    for await (const retry of meantRetries(admin, filterOf(flags), signal)) {
      if (ids.length >= (flags.limit ?? Number.POSITIVE_INFINITY)) break;
      if (what.meant(retry)) ids.push(retry.id);
    }
    const question = `Drop ${ids.length} retries? Their offsets are committed: nothing reads these chunks again.`;
    if (mustAsk && ids.length > 0 && !(await isConfirmed(question, flags.yes === true, signal))) {
      process.stderr.write('nothing was dropped\n');
      return exitCodes.done;
    }
    const outcomes: Record<AdminOutcome, number> = { done: 0, gone: 0, busy: 0 };
    for (const id of dryRun ? [] : ids) {
      if (signal.aborted) break;
      outcomes[await what.deed(admin, id)]++;
    }
    report(what, flags, ids.length, outcomes);
    if (!signal.aborted) return exitCodes.done;
    process.stderr.write('interrupted\n');
    return exitCodes.unfinished;
  });
}

function report(what: Change, flags: ChangeFlags, chosen: number, { done, gone, busy }: Record<AdminOutcome, number>) {
  const dryRun = flags.dryRun === true;
  if (flags.json === true) {
    process.stdout.write(`${JSON.stringify({ event: what.event, dryRun, chosen, done, gone, busy })}\n`);
    return;
  }
  const lines = [
    dryRun ? `would have ${what.done} ${chosen} retries` : `${what.done} ${done} retries`,
    ...(busy > 0 ? [`${busy} ${what.busy}`] : []),
    ...(gone > 0 ? [`${gone} had ended meanwhile`] : []),
  ];
  process.stdout.write(`${lines.join('\n')}\n`);
}
