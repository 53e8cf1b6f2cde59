/**
 * `rag-serving dlq replay`: sends letters back, in the order in which they lie in each partition. What makes each of them go
 * exactly once is src/kafka/redrive.ts.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Env } from '../../src/config/env-reader.ts';
import { asServingError, ServingError } from '../../src/errors.ts';
import type { Letter } from '../../src/kafka/letter.ts';
import {
  type LetterReplay,
  MAX_TRANSACTION_BYTES,
  MAX_TRANSACTION_LETTERS,
  Redrive,
  type ReplayOutcome,
  readMarks,
  replayBytes,
} from '../../src/kafka/redrive.ts';
import type { RedriveMarks } from '../../src/kafka/redrive-marks.ts';
import { replayOf } from '../../src/kafka/redrive-record.ts';
import { type ExitCode, exitCodes } from '../exit-codes.ts';
import { type FilterFlags, filterOf } from '../letters/filter-options.ts';
import { isConfirmed, refuseSilence } from '../tool/confirm.ts';
import { letterJson } from './letter-line.ts';
import { type OpenedDlq, scan, withDlq } from './open.ts';
import { Pace } from './pace.ts';
import { ReplayBatch } from './replay-batches.ts';
import { countRefused, countReplayed, newCounts, type ReplayCounts, replayJson, replayText } from './replay-report.ts';
import { Targets } from './targets.ts';

export type ReplayFlags = FilterFlags & {
  readonly toTopic?: string;
  readonly rate?: number;
  readonly limit?: number;
  readonly maxReplays: number;
  readonly dryRun?: true;
  readonly yes?: true;
  readonly json?: true;
};

type Send = (replays: readonly LetterReplay[]) => Promise<ReplayOutcome>;

export async function runReplay(flags: ReplayFlags, env: Env): Promise<ExitCode> {
  const dryRun = flags.dryRun === true;
  if (!dryRun) refuseSilence(flags.yes === true);
  return withDlq(env, async (opened, signal) => {
    if (flags.toTopic === opened.deadLetterTopic) {
      throw new ServingError('ARGUMENT_INVALID', `--to-topic ${flags.toTopic} is the dead-letter topic itself`);
    }
    if (dryRun || flags.yes !== true) {
      const planned = await plan(opened, flags, signal);
      if (dryRun) return report(planned, flags);
      process.stderr.write(replayText(planned, true));
      if (planned.replayed === 0) return exitOf(planned);
      if (!(await isConfirmed(`Replay ${planned.replayed} dead letters?`, false, signal))) return notReplayed();
    }
    return replay(opened, flags, signal);
  });
}

function notReplayed(): ExitCode {
  process.stderr.write('nothing was replayed\n');
  return exitCodes.done;
}

async function plan(opened: OpenedDlq, flags: ReplayFlags, signal: AbortSignal): Promise<ReplayCounts> {
  const marks = await readMarks(opened, signal);
  const listed = flags.json === true && flags.dryRun === true;
  const send: Send = async (replays) => {
    if (listed) {
      for (const { letter, replay } of replays) {
        process.stdout.write(`${JSON.stringify({ ...letterJson(letter, undefined), toTopic: replay.topic })}\n`);
      }
    }
    return { replayed: replays, already: [], tooLarge: [] };
  };
  const { counts, failure } = await run(opened, flags, marks, send, signal);
  if (failure !== undefined) throw failure;
  return counts;
}

async function replay(opened: OpenedDlq, flags: ReplayFlags, signal: AbortSignal): Promise<ExitCode> {
  const redrive = new Redrive(opened);
  const pace = new Pace(flags.rate ?? Number.POSITIVE_INFINITY);
  try {
    await redrive.open(signal);
    const send: Send = async (replays) => {
      await sleep(pace.waitMs(replays.length, performance.now()), undefined, { signal });
      return redrive.replay(replays, Date.now(), signal);
    };
    const { counts, failure } = await run(opened, flags, redrive.marks, send, signal, pace.burst);
    if (failure === undefined) return report(counts, flags);
    report(counts, flags, signal.aborted ? undefined : failure);
    process.stderr.write(
      signal.aborted
        ? 'interrupted; run it again for the rest: nothing is replayed twice\n'
        : 'stopped; run it again when that is mended: nothing is replayed twice\n',
    );
    if (signal.aborted) return exitCodes.unfinished;
    throw failure;
  } finally {
    await redrive.close();
  }
}

type RunEnd = { readonly counts: ReplayCounts; readonly failure: ServingError | undefined };

/** Never rejects: what was replayed before a failure must be told. */
async function run(
  opened: OpenedDlq,
  flags: ReplayFlags,
  marks: RedriveMarks,
  send: Send,
  signal: AbortSignal,
  burst = MAX_TRANSACTION_LETTERS,
): Promise<RunEnd> {
  const counts = newCounts();
  const limits = { letters: Math.min(burst, MAX_TRANSACTION_LETTERS), bytes: MAX_TRANSACTION_BYTES };
  const batch = new ReplayBatch(limits, replayBytes);
  const targets = new Targets(opened.admin);
  const rules = { toTopic: flags.toTopic, maxReplays: flags.maxReplays };
  const limit = flags.limit ?? Number.POSITIVE_INFINITY;
  const sendAll = async (replays: readonly LetterReplay[]): Promise<void> => {
    if (replays.length === 0) return;
    const { replayed, already, tooLarge } = await send(replays);
    counts.already += already.length;
    counts.refused['too-large'] += tooLarge.length;
    for (const { replay: sent } of replayed) countReplayed(counts, sent.topic);
  };
  const take = async (letters: readonly Letter[]) => {
    for (const letter of letters) {
      signal.throwIfAborted();
      if (counts.chosen - counts.already >= limit) return 'enough' as const;
      counts.chosen++;
      if (marks.of(letter) !== undefined) {
        counts.already++;
        continue;
      }
      const verdict = replayOf(letter, { ...rules, nowMs: Date.now() });
      if (!verdict.ok) counts.refused[verdict.refusal]++;
      else await sendAll(batch.add({ letter, replay: await targets.placed(letter, verdict.replay) }));
    }
    return 'more' as const;
  };
  try {
    await scan(opened, filterOf(flags), marks, take, signal);
    await sendAll(batch.rest());
    return { counts, failure: undefined };
  } catch (error) {
    return { counts, failure: asServingError(error) };
  }
}

function report(counts: ReplayCounts, flags: ReplayFlags, failure?: ServingError): ExitCode {
  const dryRun = flags.dryRun === true;
  if (flags.json === true) {
    const more = { event: 'replay', dryRun, ...(failure === undefined ? {} : { error: failure.code }) };
    process.stdout.write(`${JSON.stringify(replayJson(counts, more))}\n`);
  } else process.stdout.write(replayText(counts, dryRun));
  return exitOf(counts);
}

function exitOf(counts: ReplayCounts): ExitCode {
  return countRefused(counts) > 0 ? exitCodes.failed : exitCodes.done;
}
