/**
 * Sink that keeps rows in this process, for tests and for measuring a pipeline without a store.
 *
 * Not durable: `stored` means held until the process ends. A worker that commits offsets on its word loses chunks at exit.
 */
import type { Clock } from '../../clock.ts';
import { ServingError } from '../../errors.ts';
import type { VectorContract } from '../../kserve/contract.ts';
import type { Deletion } from '../../records/chunk.ts';
import { throwIfAborted } from '../bounded.ts';
import { planRemoval, planWrite } from '../plan.ts';
import { screenRows } from '../row-check.ts';
import { checkQuery, cosine, decodeVector, Nearest } from '../similarity.ts';
import {
  type CollectionDescription,
  type RowOutcome,
  type ScanPage,
  type SearchHit,
  type SearchScope,
  type Sink,
  type SinkRow,
  type StoredRow,
  scopeOf,
} from '../sink.ts';
import { checkTombstoneRetention, DEFAULT_TOMBSTONE_RETENTION_MS, Tombstones } from '../tombstones.ts';

export type MemorySinkOptions = { readonly tombstoneRetentionMs?: number };

export class MemorySink implements Sink {
  readonly name = 'memory';
  readonly #rows = new Map<string, StoredRow>();
  readonly #tombstones: Tombstones;
  readonly #clock: Clock;
  #contract: VectorContract | undefined;
  #closed = false;

  constructor({ tombstoneRetentionMs = DEFAULT_TOMBSTONE_RETENTION_MS }: MemorySinkOptions, clock: Clock) {
    checkTombstoneRetention(tombstoneRetentionMs);
    this.#tombstones = new Tombstones(tombstoneRetentionMs);
    this.#clock = clock;
  }

  async open(contract: VectorContract): Promise<void> {
    this.#contract = contract;
  }

  /** Nothing outlives this object, so there is never a collection to look at before it is opened. */
  async inspect(signal?: AbortSignal): Promise<CollectionDescription | undefined> {
    throwIfAborted(signal, 'memory sink');
    if (this.#contract === undefined && !this.#closed) return undefined;
    throw new ServingError('ARGUMENT_INVALID', `the memory sink is ${this.#closed ? 'closed' : 'open already'}`);
  }

  async write(rows: readonly SinkRow[], signal?: AbortSignal): Promise<readonly RowOutcome[]> {
    const contract = this.#opened(signal);
    const screened = screenRows(rows, contract);
    const nowMs = this.#clock.wallMs();
    const plan = planWrite(screened.accepted, this.#rows, (row) => this.#tombstones.covers(row, nowMs));
    for (const row of plan.winners) this.#rows.set(row.chunkId, { ...row, fingerprint: contract.fingerprint });
    return screened.complete(plan.outcomes);
  }

  async remove(deletions: readonly Deletion[], signal?: AbortSignal): Promise<readonly RowOutcome[]> {
    this.#opened(signal);
    const nowMs = this.#clock.wallMs();
    this.#tombstones.expire(nowMs);
    const plan = planRemoval(deletions, [...this.#rows.values()], (deletion) =>
      this.#tombstones.repeats(deletion, nowMs),
    );
    for (const id of plan.chunkIds) this.#rows.delete(id);
    for (const mark of plan.marks) this.#tombstones.record({ ...mark, deletedAtMs: nowMs });
    return plan.outcomes;
  }

  async ping(signal?: AbortSignal): Promise<void> {
    this.#opened(signal);
  }

  async count(signal?: AbortSignal): Promise<number> {
    this.#opened(signal);
    return this.#rows.size;
  }

  async search(
    vector: Float32Array,
    wanted: number | SearchScope,
    signal?: AbortSignal,
  ): Promise<readonly SearchHit[]> {
    const contract = this.#opened(signal);
    const { limit, tenantId } = scopeOf(wanted);
    checkQuery(vector, limit, contract);
    const nearest = new Nearest<StoredRow>(limit);
    for (const row of this.#rows.values()) {
      if (tenantId === undefined || row.tenantId === tenantId)
        nearest.offer(cosine(vector, decodeVector(row.vector, contract.dtype)), row);
    }
    return nearest.best().map(({ score, item: { chunkId, documentId, tenantId, text, metadata } }) => {
      return { chunkId, documentId, tenantId, score, text, metadata };
    });
  }

  async fetch(chunkIds: readonly string[], signal?: AbortSignal): Promise<readonly StoredRow[]> {
    this.#opened(signal);
    return chunkIds.flatMap((id) => this.#rows.get(id) ?? []);
  }

  /** In order of the ids. */
  async scan(after: string | undefined, limit: number, signal?: AbortSignal): Promise<ScanPage> {
    this.#opened(signal);
    const ids = [...this.#rows.keys()].filter((id) => after === undefined || id > after).sort();
    const rows = ids.slice(0, limit).map((id) => this.#rows.get(id)!);
    return { rows, next: ids.length > limit ? rows.at(-1)?.chunkId : undefined };
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
