/**
 * Pipeline: records in, each settled exactly once. It orders, packs, embeds, persists and dead-letters; it decides
 * nothing about offsets. What is in flight is bounded by the source that feeds it.
 */
import { setMaxListeners } from 'node:events';
import { asServingError, ServingError } from '../errors.ts';
import type { TopicPartition } from '../kafka/source.ts';
import { encodedSize } from '../kserve/bytes.ts';
import type { Outcome } from '../records/outcome.ts';
import type { RecordInFlight, RejectInFlight } from '../records/travel.ts';
import { Permits } from '../resilience/permits.ts';
import type { Sink } from '../sinks/sink.ts';
import { type PipelineTraces, traceTogether } from './batch-trace.ts';
import { type EmbeddedChunk, EmbedStage, type EmbedStageOptions } from './embed-stage.ts';
import type { PackedBatch } from './observer.ts';
import { OrderGate } from './order.ts';
import { type Packed, Packer, type PackLimits } from './packer.ts';
import { type Persistable, type PersistResults, PersistStage } from './persist-stage.ts';
import { type Refusal, Refusals, type RefusalsOptions } from './refusals.ts';
import { sinkRow } from './sink-row.ts';
import {
  type ChunkTraveller,
  type DeletionTraveller,
  isChunk,
  orderKeys,
  replacesWaiting,
  type Traveller,
} from './traveller.ts';

export type PipelineOptions = Omit<EmbedStageOptions, 'surroundings' | 'maxRows'> &
  RefusalsOptions & {
    readonly sink: Sink;
    readonly limits: PackLimits;
    readonly batchesInFlight: number;
    readonly persistConcurrency: number;
    readonly storeText: boolean;
    /** Undefined unless the worker traces. */
    readonly traces?: PipelineTraces | undefined;
    /** Called once, with the first error that no retry can heal. */
    onFatal(error: ServingError): void;
  };

/** A batch, or one retry, which is packed with nothing. */
type Closed = Omit<Packed<ChunkTraveller>, 'closedBy'> & { readonly closedBy: PackedBatch['closedBy'] };

const MAX_DELETIONS_A_CALL = 256;

export class Pipeline {
  readonly #options: PipelineOptions;
  readonly #gate: OrderGate<Traveller>;
  readonly #packer: Packer<ChunkTraveller>;
  readonly #embedStage: EmbedStage;
  readonly #persistStage: PersistStage;
  readonly #refusals: Refusals;
  readonly #embedPermits: Permits;
  readonly #persistPermits: Permits;
  readonly #unstoredPermits: Permits;
  readonly #abort = new AbortController();
  readonly #open = new Set<Traveller | RejectInFlight>();
  #deletions: DeletionTraveller[] = [];
  #timer: NodeJS.Timeout | undefined;
  #draining = false;
  #whenIdle: (() => void) | undefined;

  constructor(options: PipelineOptions) {
    this.#options = options;
    // Each batch that waits for its turn listens to it.
    setMaxListeners(0, this.#abort.signal);
    this.#gate = new OrderGate({
      keysOf: orderKeys,
      replaces: replacesWaiting,
      run: (traveller) => this.#dispatch(traveller),
      superseded: (traveller) => this.#settle(traveller, { kind: 'superseded' }),
    });
    this.#packer = new Packer(options.limits);
    this.#embedStage = new EmbedStage({ ...options, maxRows: options.limits.maxItems });
    this.#persistStage = new PersistStage(options.sink, options.surroundings);
    this.#refusals = new Refusals(options);
    this.#embedPermits = new Permits(options.batchesInFlight);
    this.#persistPermits = new Permits(options.persistConcurrency);
    // While the store is away nothing is embedded ahead of it: whoever takes over after a kill would do it all again.
    this.#unstoredPermits = new Permits(options.batchesInFlight + 2 * options.persistConcurrency);
  }

  /** Records that are not settled yet. */
  get inFlight(): number {
    return this.#open.size;
  }

  /** True from the first call of `drain` on: nothing new is worth beginning. */
  get draining(): boolean {
    return this.#draining;
  }

  get batchesInFlight(): number {
    return this.#embedPermits.held;
  }

  accept(records: readonly RecordInFlight[]): void {
    const rejects: RejectInFlight[] = [];
    for (const record of records) {
      if (this.#abort.signal.aborted) {
        record.settle({ kind: 'abandoned' });
      } else if (record.kind === 'reject') {
        this.#open.add(record);
        rejects.push(record);
      } else {
        const bytes = record.kind === 'chunk' ? encodedSize(record.chunk.text) : 0;
        const traveller: Traveller = { record, bytes, state: 'held' };
        this.#open.add(traveller);
        this.#gate.enter(traveller);
      }
    }
    if (rejects.length > 0) void this.#bury(rejects);
    if (this.#draining) this.#flush();
    this.#setTimer();
  }

  /** Drops what has not been sent of partitions that left. What was sent goes on; its outcome is the source's to ignore. */
  revoke(partitions: readonly TopicPartition[]): void {
    const lost = new Set(partitions.map(({ topic, partition }) => `${partition} ${topic}`));
    // A retry belongs to whoever took it from the queue, not to the owner of its partition.
    const isLost = ({ record }: Traveller) =>
      lost.has(`${record.raw.source.partition} ${record.raw.source.topic}`) &&
      (record.kind === 'deletion' || record.retry === undefined);
    for (const traveller of this.#gate.dropWaiting(isLost)) this.#settle(traveller, { kind: 'abandoned' });
    this.#packer.drop(isLost);
    for (const open of this.#open) {
      if (!('state' in open) || open.state !== 'packed' || !isLost(open)) continue;
      this.#finish(open, { kind: 'abandoned' });
    }
  }

  /**
   * Ends the open batch and waits until everything is settled. When the signal aborts first, the rest is abandoned:
   * not stored as far as we know, not committed, so read again later. Resolves with the number abandoned.
   */
  async drain(signal: AbortSignal): Promise<number> {
    this.#draining = true;
    this.#flush();
    if (this.#open.size > 0 && !signal.aborted) {
      await new Promise<void>((resolve) => {
        this.#whenIdle = resolve;
        signal.addEventListener('abort', () => resolve(), { once: true });
      });
    }
    const abandoned = this.#open.size;
    clearTimeout(this.#timer);
    this.#abort.abort(new ServingError('DRAIN_TIMEOUT', 'the pipeline has stopped'));
    for (const open of this.#open) this.#settle(open, { kind: 'abandoned' });
    return abandoned;
  }

  #dispatch(traveller: Traveller): void {
    traveller.state = 'packed';
    if (isChunk(traveller) && traveller.record.retry !== undefined) {
      // Alone: it has spoiled a batch before.
      const { bytes } = traveller;
      this.#send({ items: [traveller], bytes, longestBytes: bytes, closedBy: 'retry' });
    } else if (isChunk(traveller)) {
      const now = this.#options.surroundings.clock.monotonicMs();
      for (const batch of this.#packer.add(traveller, traveller.bytes, now)) this.#send(batch);
      // Freed by the end of an earlier revision, outside `accept`: the timer must know of it.
      this.#setTimer();
    } else {
      this.#deletions.push(traveller as DeletionTraveller);
      if (this.#deletions.length === 1) setImmediate(() => void this.#removeAll());
    }
  }

  #setTimer(): void {
    const dueAt = this.#packer.dueAt;
    if (this.#timer !== undefined || dueAt === undefined) return;
    const { clock } = this.#options.surroundings;
    const onDue = () => {
      this.#timer = undefined;
      const batch = this.#packer.closeIfDue(clock.monotonicMs());
      if (batch !== undefined) this.#send(batch);
      this.#setTimer();
    };
    this.#timer = setTimeout(onDue, Math.max(1, dueAt - clock.monotonicMs()));
  }

  #flush(): void {
    const batch = this.#packer.flush();
    if (batch !== undefined) this.#send(batch);
  }

  #send({ items: packed, bytes, longestBytes, closedBy }: Closed): void {
    const { surroundings, limits } = this.#options;
    const size = { rows: packed.length, capacity: limits.maxItems };
    surroundings.observer.packed({ ...size, bytes, longestBytes, closedBy });
    traceTogether(this.#options.traces, packed, closedBy);
    void this.#guard(async (signal) => {
      const stored: Promise<void>[] = [];
      const leave = await this.#unstoredPermits.acquire(signal);
      const release = await this.#embedPermits.acquire(signal);
      try {
        const batch = packed.filter(({ state }) => state !== 'done');
        for (const traveller of batch) traveller.state = 'sent';
        if (batch.length === 0) return;
        const onEmbedded = (chunks: readonly EmbeddedChunk[]) => void stored.push(this.#persist(chunks));
        const onRefused = (traveller: ChunkTraveller, error: ServingError, attempts: number) =>
          void this.#refuse(traveller, { stage: 'embed', error, attempts });
        await this.#embedStage.run(batch, { onEmbedded, onRefused }, signal);
      } finally {
        release();
        void Promise.all(stored).then(leave);
      }
    });
  }

  #persist(chunks: readonly EmbeddedChunk[]): Promise<void> {
    const { storeText, surroundings } = this.#options;
    const nowMs = surroundings.clock.wallMs();
    const rows = chunks.map(
      ({ traveller, vector }): Persistable<ChunkTraveller> => ({
        traveller,
        row: sinkRow(traveller.record, vector, storeText, nowMs),
      }),
    );
    return this.#guard(async (signal) => {
      const release = await this.#persistPermits.acquire(signal);
      try {
        await this.#persistStage.write(rows, this.#results({ kind: 'persisted' }), signal);
      } finally {
        release();
      }
    });
  }

  async #removeAll(): Promise<void> {
    const all = this.#deletions.filter(({ state }) => state !== 'done');
    this.#deletions = [];
    for (let from = 0; from < all.length; from += MAX_DELETIONS_A_CALL) {
      const part = all.slice(from, from + MAX_DELETIONS_A_CALL);
      traceTogether(this.#options.traces, part, 'deletions');
      for (const traveller of part) traveller.state = 'sent';
      await this.#guard((signal) => this.#persistStage.remove(part, this.#results({ kind: 'deleted' }), signal));
    }
  }

  #results(stored: Outcome): PersistResults<Traveller> {
    return {
      onStored: (traveller) => this.#finish(traveller, stored),
      onRefused: (traveller, error, attempts) => void this.#refuse(traveller, { stage: 'persist', error, attempts }),
    };
  }

  #bury(rejects: readonly RejectInFlight[]): Promise<void> {
    const trace = this.#options.traces?.batch(rejects, 'unreadable');
    return this.#guard(async (signal) => {
      await this.#refusals.bury(rejects, trace, signal).catch((error: unknown) => {
        trace?.abandon();
        throw error;
      });
      for (const reject of rejects) {
        const outcome: Outcome = { kind: 'dead-lettered', error: reject.error };
        this.#settle(reject, outcome);
        trace?.settled(outcome);
      }
    });
  }

  #refuse(traveller: Traveller, refusal: Refusal): Promise<void> {
    return this.#guard(async (signal) => {
      this.#finish(traveller, await this.#refusals.refused(traveller, refusal, signal));
    });
  }

  /** Runs a piece of work; what it throws after an abort is expected, anything else is fatal. */
  async #guard(work: (signal: AbortSignal) => Promise<void>): Promise<void> {
    try {
      await work(this.#abort.signal);
    } catch (thrown) {
      if (this.#abort.signal.aborted) return;
      this.#options.onFatal(asServingError(thrown));
    }
  }

  #finish(traveller: Traveller, outcome: Outcome): void {
    if (traveller.state === 'done') return;
    this.#settle(traveller, outcome);
    this.#gate.leave(traveller);
    if (this.#draining) this.#flush();
  }

  #settle(open: Traveller | RejectInFlight, outcome: Outcome): void {
    if (!this.#open.delete(open)) return;
    if ('state' in open) {
      open.state = 'done';
      open.trace?.settled(outcome);
    }
    const { settle } = 'state' in open ? open.record : open;
    settle(outcome);
    this.#options.surroundings.observer.settled(outcome.kind);
    if (this.#open.size === 0) this.#whenIdle?.();
  }
}
