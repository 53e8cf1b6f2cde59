/**
 * Embed stage: one batch of chunks to vectors, whatever it takes. An outage is waited out; a chunk that spoils its
 * batch is found by halving, and blamed only if the engine still embeds a text that is known to be good.
 */
import { ServingError } from '../errors.ts';
import type { VectorContract } from '../kserve/contract.ts';
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
};

const PROBE_TEXT = 'The quick brown fox jumps over the lazy dog.';

export class EmbedStage {
  readonly #options: EmbedStageOptions;

  constructor(options: EmbedStageOptions) {
    this.#options = options;
  }

  /** Resolves when every chunk has gone to one of the callbacks. Rejects with a fatal ServingError or the signal's reason. */
  async run(batch: readonly ChunkTraveller[], results: EmbedResults, signal: AbortSignal): Promise<void> {
    const given = await this.#call(batch, signal);
    switch (given.kind) {
      case 'ok':
        return this.#sortRows(batch, given, results, signal);
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

  #call(batch: readonly ChunkTraveller[], signal: AbortSignal): Promise<Perseverance<EmbeddedBatch & Rows>> {
    const { transport, contract, surroundings } = this.#options;
    const texts = batch.map(({ record }) => record.chunk.text);
    const call = async () => {
      const embedded = await transport.embed(texts, signal);
      surroundings.observer.embedded(texts.length, embedded.transport);
      return { ...embedded, rows: vectorRows(embedded.vectors, texts.length, contract) };
    };
    return persevere(call, { stage: 'embed', holdReason: 'engine', rows: batch.length }, surroundings, signal);
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
