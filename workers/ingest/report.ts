/** What an ingest came to, for a person and for a script. */
import type { ServingError } from '../../src/errors.ts';
import { type ExitCode, exitCodes } from '../exit-codes.ts';
import { rejectedOf, type Tally } from './tally.ts';

export type IngestResult = {
  readonly files: number;
  readonly filesDone: number;
  /** Over all runs since the ingest began. */
  readonly tally: Tally;
  /** What of it earlier runs did. */
  readonly earlier: Tally;
  readonly problems: readonly { readonly file: string; readonly problem: string }[];
  readonly seconds: number;
  readonly end: 'done' | 'limit' | 'interrupted' | 'failed';
  readonly failure: ServingError | undefined;
};

export function exitCodeFor({ failure, end, problems, tally }: IngestResult): ExitCode {
  if (failure !== undefined) return exitCodes.failed;
  if (end === 'interrupted') return exitCodes.unfinished;
  return problems.length > 0 || rejectedOf(tally) > 0 ? exitCodes.failed : exitCodes.done;
}

export function jsonReport(result: IngestResult, target: string, isDryRun: boolean): string {
  const { tally, earlier, failure, problems, ...rest } = result;
  const { entries, stored, superseded, rejected } = tally;
  const summary = {
    target,
    dryRun: isDryRun,
    ...rest,
    entries,
    stored,
    superseded,
    rejected: rejectedOf(tally),
    rejectedByCode: rejected,
    storedBefore: earlier.stored,
    chunksPerSecond: rateOf(result),
    problems,
    ...(failure === undefined ? {} : { error: failure.code, reason: failure.message }),
  };
  return `${JSON.stringify(summary)}\n`;
}

export function textReport(result: IngestResult, target: string, isDryRun: boolean, isResumable: boolean): string {
  const { tally, earlier, files, filesDone, seconds, problems, end, failure } = result;
  const verb = isDryRun ? 'would store' : 'stored';
  const lines = [
    `${verb} ${tally.stored} chunks of ${tally.entries} entries in ${target}; ${filesDone} of ${files} files done in ${seconds} s (${rateOf(result)}/s)`,
  ];
  if (earlier.stored > 0) lines.push(`of these ${earlier.stored} were stored by an earlier run`);
  if (tally.superseded > 0) lines.push(`${tally.superseded} gave way to a later chunk of the same id`);
  const codes = Object.entries(tally.rejected).map(([code, count]) => `${count} ${code}`);
  lines.push(codes.length === 0 ? 'rejected 0' : `rejected ${rejectedOf(tally)}: ${codes.join(', ')}`);
  for (const { file, problem } of problems) lines.push(`not read to its end: ${file}: ${problem}`);
  const again = isResumable ? 'run the same command again to go on' : 'standard input cannot be gone on with';
  if (failure !== undefined) lines.push(`stopped: ${failure.message}; ${again}`);
  else if (end === 'interrupted') lines.push(`interrupted; ${again}`);
  else if (end === 'limit') lines.push(`stopped at --limit; ${again}`);
  return `${lines.join('\n')}\n`;
}

function rateOf({ tally, earlier, seconds }: IngestResult): number {
  return seconds > 0 ? Math.round((tally.stored - earlier.stored) / seconds) : 0;
}
