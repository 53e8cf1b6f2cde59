/**
 * Where records go that could not be embedded or stored: to the retry queue, back to it, or to the dead letters. A record
 * is settled only once the server that now holds it has said so; until then its offset stays open.
 *
 * What could not be decoded is never retried: the same bytes would be read the same way.
 */
import type { ServingError } from '../errors.ts';
import type { DeadLetter, DeadLetters } from '../kafka/dead-letter.ts';
import type { Outcome } from '../records/outcome.ts';
import type { RejectInFlight } from '../records/travel.ts';
import type { RetryQueue } from '../retry/retry-queue.ts';
import { inSpan } from '../telemetry/tracing.ts';
import type { BatchTrace } from './batch-trace.ts';
import { type Effort, persevere, type Surroundings } from './persevere.ts';
import { type ChunkTraveller, isChunk, type Traveller } from './traveller.ts';

export type Refusal = {
  readonly stage: 'embed' | 'persist';
  readonly error: ServingError;
  readonly attempts: number;
};

export type RefusalsOptions = {
  readonly deadLetters: DeadLetters;
  /** Undefined: no durable retries, so what is refused goes to the dead letters at once. */
  readonly retries: Pick<RetryQueue, 'handOver'> | undefined;
  readonly surroundings: Surroundings;
};

export class Refusals {
  readonly #options: RefusalsOptions;

  constructor(options: RefusalsOptions) {
    this.#options = options;
  }

  /** How the journey ended. Rejects with a fatal ServingError or the signal's reason. */
  async refused(traveller: Traveller, refusal: Refusal, signal: AbortSignal): Promise<Outcome> {
    const { retries } = this.#options;
    if (isChunk(traveller)) {
      const { retry } = traveller.record;
      // The queue keeps it until the verdict: the outcome says that it is not done.
      if (retry !== undefined && !retry.last) return { kind: 'handed-over', error: refusal.error };
      if (retry === undefined && retries !== undefined) return this.#handOver(retries, traveller, refusal, signal);
    }
    await this.#deliver([deadLetter(traveller, refusal)], traveller.trace, signal);
    return { kind: 'dead-lettered', error: refusal.error };
  }

  /** Resolves when the dead-letter topic holds all of them. Rejects as `refused` does. */
  bury(rejects: readonly RejectInFlight[], trace: BatchTrace | undefined, signal: AbortSignal): Promise<void> {
    const letters = rejects.map(
      ({ raw, index, error }): DeadLetter => ({ raw, index, error, stage: 'decode', attempts: 1 }),
    );
    return this.#deliver(letters, trace, signal);
  }

  async #handOver(
    retries: Pick<RetryQueue, 'handOver'>,
    { record, trace }: ChunkTraveller,
    { stage, error, attempts }: Refusal,
    signal: AbortSignal,
  ): Promise<Outcome> {
    const { raw, chunk } = record;
    const entry = { raw, index: chunk.batchIndex, chunkId: chunk.chunkId, stage, error, attempts };
    const handOver =
      trace === undefined
        ? () => retries.handOver([entry], signal)
        : () => inSpan(trace.handOver(), () => retries.handOver([entry], signal));
    await this.#acknowledged(handOver, { stage: 'retry', hold: 'retries', rows: 1 }, signal);
    return { kind: 'handed-over', error };
  }

  async #deliver(letters: readonly DeadLetter[], trace: BatchTrace | undefined, signal: AbortSignal): Promise<void> {
    const { deadLetters, surroundings } = this.#options;
    const effort = { stage: 'dead_letter', hold: 'dead-letters', rows: letters.length } as const;
    const send =
      trace === undefined
        ? () => deadLetters.send(letters)
        : () => inSpan(trace.deadLetters(letters.length), () => deadLetters.send(letters));
    await this.#acknowledged(send, effort, signal);
    for (const { error, stage } of letters) surroundings.observer.deadLettered(error.code, stage);
  }

  async #acknowledged(call: () => Promise<void>, effort: Effort, signal: AbortSignal): Promise<void> {
    const given = await persevere(call, effort, this.#options.surroundings, signal);
    if (given.kind !== 'ok') throw given.error;
  }
}

function deadLetter({ record }: Traveller, { stage, error, attempts }: Refusal): DeadLetter {
  const chunk = record.kind === 'chunk' ? record : undefined;
  // Attempts of earlier journeys of the same chunk count as well.
  const all = attempts + (chunk?.retry?.attempts ?? 0);
  return { raw: record.raw, index: chunk?.chunk.batchIndex, error, stage, attempts: all };
}
