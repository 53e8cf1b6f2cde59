/**
 * Embed stage: one batch of chunks to vectors, whatever it takes. An outage is waited out; an engine too slow for a
 * whole batch gets it in pieces; a chunk that spoils its batch is found by halving, and blamed only if the engine still
 * embeds a text that is known to be good.
 */
import { isServingError, ServingError } from '../errors.ts';
import type { VectorContract } from '../kserve/contract.ts';
import { CallSize } from '../resilience/call-size.ts';
import { type Perseverance, persevere, type Surroundings } from './persevere.ts';
import type { EmbeddedBatch, EmbedTransport } from './transport.ts';
import type { ChunkTraveller } from './traveller.ts';
import { type VectorRow, vectorRows } from './vector-rows.ts';

export type EmbeddedChunk = { readonly traveller: ChunkTraveller; readonly vector: Uint8Array };

export type EmbedResults = {
  /** Sound vectors of one call: called as soon as they are there, also while batch-mates are still being tried. */
  onEmbedded(chunks: readonly EmbeddedChunk[]): void;
  onRefused(traveller: ChunkTraveller, error: ServingError, attempts: number): void;
};

export type EmbedStageOptions = {
  readonly transport: EmbedTransport;
  readonly contract: VectorContract;
  readonly surroundings: Surroundings;
  /** Deadline of one call of the transport. */
  readonly timeoutMs: number;
  /** Chunks of a batch at most. */
  readonly maxRows: number;
};

const PROBE_TEXT = 'The quick brown fox jumps over the lazy dog.';

export class EmbedStage {
  readonly #options: EmbedStageOptions;
  readonly #size: CallSize;

  constructor(options: EmbedStageOptions) {
    this.#options = options;
    this.#size = new CallSize(options.maxRows);
  }

  /** Resolves when every chunk has gone to one of the callbacks. Rejects with a fatal ServingError or the signal's reason. */
  async run(batch: readonly ChunkTraveller[], results: EmbedResults, signal: AbortSignal): Promise<void> {
    const given = await this.#call(batch, signal);
    switch (given.kind) {
      case 'ok': {
        const { rows } = given.value;
        await this.#sortRows(batch.slice(0, rows.length), given, results, signal);
        const rest = batch.slice(rows.length);
        return rest.length === 0 ? undefined : this.run(rest, results, signal);
      }
      case 'isolate': {
        const middle = Math.ceil(batch.length / 2);
        await this.run(batch.slice(0, middle), results, signal);
        return this.run(batch.slice(middle), results, signal);
      }
      case 'suspect':
        return this.#judge(batch[0] as ChunkTraveller, given.error, given.attempts, results, signal);
      case 'stop':
        throw given.error;
    }
  }

  /** Rows of the batch, or of its beginning when the engine is too slow for all of it. */
  #call(batch: readonly ChunkTraveller[], signal: AbortSignal): Promise<Perseverance<Rows>> {
    const { contract, surroundings } = this.#options;
    const texts = batch.map(({ record }) => record.chunk.text);
    let most = texts.length;
    const call = async () => {
      const asked = texts.slice(0, Math.min(most, this.#size.rows));
      try {
        const embedded = await this.#timed(asked, signal);
        surroundings.observer.embedded(asked.length, embedded.transport);
        return { rows: vectorRows(embedded.vectors, asked.length, contract) };
      } catch (error) {
        // Also where it was less than others may ask for: the same call once more would be late once more.
        if (isServingError(error, 'INFERENCE_DEADLINE')) most = Math.ceil(asked.length / 2);
        throw error;
      }
    };
    return persevere(call, { stage: 'embed', holdReason: 'engine', rows: batch.length }, surroundings, signal);
  }

  async #timed(texts: readonly string[], signal: AbortSignal): Promise<EmbeddedBatch> {
    const { transport, timeoutMs, surroundings } = this.#options;
    const { clock, log } = surroundings;
    const begunWith = this.#size.rows;
    const startedMs = clock.monotonicMs();
    try {
      const embedded = await transport.embed(texts, signal);
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
    batch: readonly ChunkTraveller[],
    { value: { rows }, attempts }: { readonly value: Rows; readonly attempts: number },
    results: EmbedResults,
    signal: AbortSignal,
  ): Promise<void> {
    const sound: EmbeddedChunk[] = [];
    const faulty: { traveller: ChunkTraveller; error: ServingError }[] = [];
    rows.forEach((row, index) => {
      const traveller = batch[index] as ChunkTraveller;
      if (row.kind === 'sound') sound.push({ traveller, vector: row.vector });
      else faulty.push({ traveller, error: row.error });
    });
    if (sound.length > 0) results.onEmbedded(sound);
    for (const { traveller, error } of faulty) {
      // Alone once more: an overflow can come from the company a text was padded with.
      if (batch.length > 1) await this.run([traveller], results, signal);
      else await this.#judge(traveller, error, attempts, results, signal);
    }
  }

  /** Blames the chunk if the engine is sound; waits for the engine if not, and then tries the chunk again. */
  async #judge(
    traveller: ChunkTraveller,
    error: ServingError,
    attempts: number,
    results: EmbedResults,
    signal: AbortSignal,
  ): Promise<void> {
    if (await this.#engineIsSound(signal)) return results.onRefused(traveller, error, attempts);
    await persevere(
      async () => {
        if (await this.#engineIsSound(signal)) return;
        throw new ServingError('INFERENCE_UNAVAILABLE', 'the engine does not embed a known good text', {
          cause: error,
        });
      },
      { stage: 'embed', holdReason: 'engine', rows: 1 },
      this.#options.surroundings,
      signal,
    );
    return this.run([traveller], results, signal);
  }

  async #engineIsSound(signal: AbortSignal): Promise<boolean> {
    const { transport, contract } = this.#options;
    try {
      const { vectors } = await transport.embed([PROBE_TEXT], signal);
      return vectorRows(vectors, 1, contract)[0]?.kind === 'sound';
    } catch {
      signal.throwIfAborted();
      return false;
    }
  }
}

type Rows = { readonly rows: readonly VectorRow[] };
