/**
 * Sink that keeps rows in this process, for tests and for measuring a pipeline without a store.
 *
 * Not durable: `stored` means held until the process ends. A worker that commits offsets on its word loses chunks at exit.
 */
import { ServingError } from '../../errors.ts';
import type { VectorContract } from '../../kserve/contract.ts';
import type { Deletion } from '../../records/chunk.ts';
import { throwIfAborted } from '../bounded.ts';
import { planRemoval, planWrite } from '../plan.ts';
import { screenRows } from '../row-check.ts';
import { checkQuery, cosine, decodeVector, Nearest } from '../similarity.ts';
import type { RowOutcome, SearchHit, Sink, SinkRow, StoredRow } from '../sink.ts';

export class MemorySink implements Sink {
  readonly name = 'memory';
  readonly #rows = new Map<string, StoredRow>();
  #contract: VectorContract | undefined;
  #closed = false;

  async open(contract: VectorContract): Promise<void> {
    this.#contract = contract;
  }

  async write(rows: readonly SinkRow[], signal?: AbortSignal): Promise<readonly RowOutcome[]> {
    const contract = this.#opened(signal);
    const screened = screenRows(rows, contract);
    const plan = planWrite(screened.accepted, this.#rows);
    for (const row of plan.winners) this.#rows.set(row.chunkId, { ...row, fingerprint: contract.fingerprint });
    return screened.complete(plan.outcomes);
  }

  async remove(deletions: readonly Deletion[], signal?: AbortSignal): Promise<readonly RowOutcome[]> {
    this.#opened(signal);
    const plan = planRemoval(deletions, [...this.#rows.values()]);
    for (const id of plan.chunkIds) this.#rows.delete(id);
    return plan.outcomes;
  }

  async ping(signal?: AbortSignal): Promise<void> {
    this.#opened(signal);
  }

  async count(signal?: AbortSignal): Promise<number> {
    this.#opened(signal);
    return this.#rows.size;
  }

  async search(vector: Float32Array, limit: number, signal?: AbortSignal): Promise<readonly SearchHit[]> {
    const contract = this.#opened(signal);
    checkQuery(vector, limit, contract);
    const nearest = new Nearest<StoredRow>(limit);
    for (const row of this.#rows.values()) nearest.offer(cosine(vector, decodeVector(row.vector, contract.dtype)), row);
    return nearest.best().map(({ score, item: { chunkId, documentId, text, metadata } }) => {
      return { chunkId, documentId, score, text, metadata };
    });
  }

  async fetch(chunkIds: readonly string[], signal?: AbortSignal): Promise<readonly StoredRow[]> {
    this.#opened(signal);
    return chunkIds.flatMap((id) => this.#rows.get(id) ?? []);
  }

  async close(): Promise<void> {
    this.#closed = true;
  }

  #opened(signal: AbortSignal | undefined): VectorContract {
    throwIfAborted(signal, 'memory sink');
    if (this.#contract === undefined || this.#closed) {
      throw new ServingError('SINK_UNAVAILABLE', `the memory sink is ${this.#closed ? 'closed' : 'not open'}`);
    }
    return this.#contract;
  }
}
