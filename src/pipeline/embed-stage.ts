/**
 * Embed stage: one batch of chunks to vectors, whatever it takes. An outage is waited out; an engine too slow for a
 * whole batch gets it in pieces; a chunk that spoils its batch is found by halving, and blamed only if the engine still
 * embeds a text that is known to be good.
 */
import { isServingError, ServingError } from '../errors.ts';
import { CallSize } from '../resilience/call-size.ts';
import type { Span } from '../telemetry/tracing.ts';
import { isOddAnswer } from './failure-policy.ts';
import type { Hold } from './holds.ts';
import { type Perseverance, persevere, type Surroundings } from './persevere.ts';
import { type EngineProbe, engineFault } from './soundness.ts';
import type { EmbeddedBatch } from './transport.ts';
import type { ChunkTraveller } from './traveller.ts';
import { type VectorRow, vectorRows } from './vector-rows.ts';

export type EmbeddedChunk = { readonly traveller: ChunkTraveller; readonly vector: Uint8Array };

export type EmbedResults = {
  /** Sound vectors of one call: called as soon as they are there, also while batch-mates are still being tried. */
  onEmbedded(chunks: readonly EmbeddedChunk[]): void;
  onRefused(traveller: ChunkTraveller, error: ServingError, attempts: number): void;
};

export type EmbedStageOptions = EngineProbe & {
  readonly surroundings: Surroundings;
  /** Deadline of one call of the transport. */
  readonly timeoutMs: number;
  /** Chunks of a batch at most. */
  readonly maxRows: number;
};

type Batch = readonly ChunkTraveller[];

export class EmbedStage {
  readonly #options: EmbedStageOptions;
  readonly #size: CallSize;

  constructor(options: EmbedStageOptions) {
    this.#options = options;
    this.#size = new CallSize(options.maxRows);
  }

  /** Resolves when every chunk has gone to one of the callbacks. Rejects with a fatal ServingError or the signal's reason. */
  run(batch: Batch, results: EmbedResults, signal: AbortSignal): Promise<void> {
    // A retry has failed beside a sound engine before: that is how it became one.
    const suspicious = batch.every(({ record }) => record.retry !== undefined);
    return this.#run(batch, suspicious, results, signal);
  }

  /** @param suspicious the batch is part of one that failed beside a sound engine */
  async #run(batch: Batch, suspicious: boolean, results: EmbedResults, signal: AbortSignal): Promise<void> {
    let rest = batch;
    let most = batch.length;
    let strikes = 0;
    const hold = this.#options.surroundings.holds.hold('engine');
    try {
      while (rest.length > 0) {
        const piece = rest.slice(0, Math.min(most, this.#size.rows));
        const given = await this.#call(piece, suspicious, hold, signal);
        if (given.kind === 'smaller') {
          // Until it answers again nobody knows whether it is slow or away.
          hold.enter();
          most = Math.ceil(piece.length / 2);
          continue;
        }
        if (given.kind === 'doubt') {
          await this.#untilSound(given.error, hold, signal);
          strikes += 1;
          if (strikes < this.#strikesNeeded(piece, suspicious)) continue;
        }
        await this.#end(piece, given, suspicious, results, signal);
        rest = rest.slice(piece.length);
        most = rest.length;
        strikes = 0;
      }
    } finally {
      hold.leave();
    }
  }

  /** Rows of a suspicious batch are taken apart at the first sign, or a text that crashes the engine would do so for an hour. */
  #strikesNeeded(piece: Batch, suspicious: boolean): number {
    return suspicious && piece.length > 1 ? 1 : this.#options.surroundings.policy.strikes;
  }

  async #end(
    piece: Batch,
    given: Perseverance<readonly VectorRow[]>,
    suspicious: boolean,
    results: EmbedResults,
    signal: AbortSignal,
  ): Promise<void> {
    switch (given.kind) {
      case 'ok':
        return this.#sortRows(piece, given.value, given.attempts, suspicious, results, signal);
      case 'suspect':
        return this.#judge(piece[0]!, given.error, given.attempts, suspicious, results, signal);
      case 'stop':
        throw given.error;
      default: {
        if (piece.length === 1) return results.onRefused(piece[0]!, given.error, given.attempts);
        const middle = Math.ceil(piece.length / 2);
        await this.#run(piece.slice(0, middle), true, results, signal);
        return this.#run(piece.slice(middle), true, results, signal);
      }
    }
  }

  #call(
    piece: Batch,
    suspicious: boolean,
    hold: Hold,
    signal: AbortSignal,
  ): Promise<Perseverance<readonly VectorRow[]>> {
    const { contract, norm, surroundings } = this.#options;
    const texts = piece.map(({ record }) => record.chunk.text);
    const call = async () => {
      const embedded = await this.#timed(texts, piece[0]?.trace?.span, signal);
      surroundings.observer.embedded(texts.length, embedded.transport);
      return vectorRows(embedded.vectors, texts.length, contract, norm);
    };
    return persevere(call, { stage: 'embed', hold, rows: texts.length, suspicious }, surroundings, signal);
  }

  async #timed(texts: readonly string[], span: Span | undefined, signal: AbortSignal): Promise<EmbeddedBatch> {
    const { transport, timeoutMs, surroundings } = this.#options;
    const { clock, log } = surroundings;
    const begunWith = this.#size.rows;
    const startedMs = clock.monotonicMs();
    try {
      const embedded = await transport.embed(texts, span, signal);
      this.#size.answered(begunWith, texts.length, (clock.monotonicMs() - startedMs) / timeoutMs);
      return embedded;
    } catch (error) {
      if (isServingError(error, 'INFERENCE_DEADLINE')) {
        this.#size.missed(begunWith);
        log.warn('no vectors before the deadline', { asked: texts.length, timeoutMs, mostNext: this.#size.rows });
      }
      throw error;
    }
  }

  async #sortRows(
    piece: Batch,
    rows: readonly VectorRow[],
    attempts: number,
    suspicious: boolean,
    results: EmbedResults,
    signal: AbortSignal,
  ): Promise<void> {
    const sound: EmbeddedChunk[] = [];
    const faulty: { traveller: ChunkTraveller; error: ServingError }[] = [];
    for (const [index, row] of rows.entries()) {
      const traveller = piece[index]!;
      if (row.kind === 'sound') sound.push({ traveller, vector: row.vector });
      else faulty.push({ traveller, error: row.error });
    }
    if (sound.length > 0) results.onEmbedded(sound);
    for (const { traveller, error } of faulty) {
      // Alone once more: an overflow can come from the company a text was padded with.
      if (piece.length > 1) await this.#run([traveller], true, results, signal);
      else await this.#judge(traveller, error, attempts, suspicious, results, signal);
    }
  }

  /** Blames a chunk that failed twice beside a sound engine: once in company and once alone, or twice alone. */
  async #judge(
    traveller: ChunkTraveller,
    error: ServingError,
    attempts: number,
    suspicious: boolean,
    results: EmbedResults,
    signal: AbortSignal,
  ): Promise<void> {
    const isSound = await this.#isSound(signal);
    if (isSound && suspicious) return results.onRefused(traveller, error, attempts);
    if (!isSound) await this.#untilSound(error, 'engine', signal);
    return this.#run([traveller], isSound, results, signal);
  }

  async #isSound(signal: AbortSignal): Promise<boolean> {
    try {
      return (await engineFault(this.#options, signal)) === undefined;
    } catch (error) {
      // Whoever waits until it is sound asks again, and stops if it stays so.
      if (isServingError(error) && isOddAnswer(error)) return false;
      throw error;
    }
  }

  /** Twice in a row, or an engine that answers one call between two failures would make any text look guilty. */
  async #untilSound(reason: ServingError, hold: Hold | 'engine', signal: AbortSignal): Promise<void> {
    const ask = async () => {
      const fault = (await engineFault(this.#options, signal)) ?? (await engineFault(this.#options, signal));
      if (fault === undefined) return;
      // Of a code that is simply waited for: nothing about the known good text is in doubt.
      const cause = fault.code === 'BREAKER_OPEN' ? reason : fault;
      throw new ServingError('MODEL_NOT_READY', 'the engine does not embed a known good text', { cause });
    };
    const given = await persevere(ask, { stage: 'embed', hold, rows: 1 }, this.#options.surroundings, signal);
    if (given.kind !== 'ok') throw given.error;
  }
}
