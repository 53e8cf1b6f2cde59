/** Everything that `status` shows, as of one moment. Both ways of showing it, text and JSON, are made from this. */

import type { GroupState } from '../../src/kafka/group-control.ts';
import type { RetryCounts } from '../../src/retry/retry-queue.ts';
import type { Position } from '../offsets/positions.ts';
import type { Flow } from './flow.ts';
import type { Reading } from './source.ts';
import type { WorkerState } from './worker-answer.ts';

export type DeadLetterCount = {
  /** False before the first dead letter: the worker makes the topic then. */
  readonly exists: boolean;
  readonly count: bigint;
};

/** Undefined fields are what its headers do not say. */
export type LastLetter = {
  readonly code: string | undefined;
  readonly stage: string | undefined;
  readonly atMs: number;
};

export type EngineState = {
  readonly ready: boolean;
  /** Undefined while the model is not ready. */
  readonly model: { readonly version: string; readonly fingerprint: string; readonly dims: number } | undefined;
};

export type StatusReport = {
  readonly atMs: number;
  readonly group: string;
  readonly topic: string;
  readonly deadLetterTopic: string;
  readonly modelName: string;
  readonly offsets: Reading<readonly Position[]>;
  readonly members: Reading<GroupState>;
  readonly flow: Flow | undefined;
  readonly retries: Reading<RetryCounts>;
  readonly deadLetters: Reading<DeadLetterCount>;
  /** Undefined when there is none, or it cannot be read any more. */
  readonly lastLetter: Reading<LastLetter | undefined>;
  readonly engines: readonly { readonly target: string; readonly reading: Reading<EngineState> }[];
  readonly workers: readonly { readonly url: string; readonly reading: Reading<WorkerState> }[];
};

/**
 * Whether something that was asked gave no answer. Not the code of the last dead letter: it needs a right of its own, and how
 * many there are is known without it.
 */
export function somethingIsAway({ offsets, members, retries, deadLetters, engines, workers }: StatusReport): boolean {
  const readings = [offsets, members, retries, deadLetters, ...[...engines, ...workers].map(({ reading }) => reading)];
  return readings.some(({ kind }) => kind === 'away' || kind === 'asking');
}
