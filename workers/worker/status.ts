/**
 * The worker's snapshot for /status: told of what happens as the metrics are, and asked for numbers that others keep when
 * somebody looks.
 */
import { systemClock } from '../../src/clock.ts';
import type { WorkerConfig } from '../../src/config/programs.ts';
import type { PartitionLag } from '../../src/kafka/admin.ts';
import type { Source } from '../../src/kafka/source.ts';
import type { VectorContract } from '../../src/kserve/contract.ts';
import type { PhaseTracker } from '../../src/lifecycle/phase.ts';
import { BreakerBoard } from '../../src/ops/breaker-board.ts';
import { IngestTally } from '../../src/ops/ingest-tally.ts';
import { programStatus } from '../../src/ops/program-status.ts';
import type { Check } from '../../src/ops/readiness.ts';
import {
  historyStepSeconds,
  type IngestStatus,
  type ModelStatus,
  type StatusSnapshot,
} from '../../src/ops/status-schema.ts';
import { packageVersion } from '../../src/package-version.ts';
import type { PipelineObserver } from '../../src/pipeline/observer.ts';
import type { BreakerStateName } from '../../src/resilience/breaker.ts';
import type { RetryCounts } from '../../src/retry/retry-queue.ts';
import type { ModelServerWatch } from '../model-server-watch.ts';
import { every } from './every.ts';
import type { WorkerParts } from './shutdown.ts';

export type StatusSources = {
  readonly phase: PhaseTracker;
  readonly readChecks: () => readonly Check[];
  /** Fills up while the worker starts. */
  readonly parts: WorkerParts;
  readonly triton: Pick<ModelServerWatch, 'vram'>;
};

type Lag = { readonly partitions: readonly PartitionLag[]; readonly atMs: number };

export class WorkerStatus {
  readonly #config: WorkerConfig;
  readonly #phase: PhaseTracker;
  readonly #readChecks: () => readonly Check[];
  readonly #parts: WorkerParts;
  readonly #triton: Pick<ModelServerWatch, 'vram'>;
  readonly #tally = new IngestTally();
  readonly #breakers = new BreakerBoard();
  readonly #startedMs = systemClock.monotonicMs();
  readonly #version = packageVersion();
  readonly #remembering: { stop(): void };
  #contract: VectorContract | undefined;
  #lag: Lag | undefined;
  #retries: RetryCounts | undefined;

  constructor(config: WorkerConfig, { phase, readChecks, parts, triton }: StatusSources) {
    this.#config = config;
    this.#phase = phase;
    this.#readChecks = readChecks;
    this.#parts = parts;
    this.#triton = triton;
    this.#remembering = every(historyStepSeconds * 1_000, async () => {
      this.#tally.remember(this.#lagMessages(), systemClock.wallMs());
    });
  }

  set contract(contract: VectorContract) {
    this.#contract = contract;
  }

  breaker(endpoint: string, state: BreakerStateName): void {
    this.#breakers.set(endpoint, state, systemClock.wallMs());
  }

  breakerGone(endpoint: string): void {
    this.#breakers.drop(endpoint);
  }

  /** Undefined while it is not known. Of the partitions that are ours. */
  lagRead(partitions: readonly PartitionLag[] | undefined): void {
    this.#lag = partitions === undefined ? undefined : { partitions, atMs: systemClock.wallMs() };
  }

  retriesCounted(counts: RetryCounts | undefined): void {
    this.#retries = counts;
  }

  /** The observer itself, also tallied. */
  tallying(observer: PipelineObserver): PipelineObserver {
    return {
      ...observer,
      embedded: (rows, transport) => {
        this.#tally.embedded(transport);
        observer.embedded(rows, transport);
      },
      settled: (outcome) => {
        this.#tally.settled(outcome, systemClock.wallMs());
        observer.settled(outcome);
      },
      deadLettered: (code, stage) => {
        this.#tally.deadLettered(code, stage, systemClock.wallMs());
        observer.deadLettered(code, stage);
      },
    };
  }

  stop(): void {
    this.#remembering.stop();
  }

  snapshot(): StatusSnapshot {
    const { pool, workerId, inference } = this.#config;
    const program = { program: 'worker', pool, worker: workerId, version: this.#version } as const;
    const now = { nowMs: systemClock.wallMs(), uptimeMs: systemClock.monotonicMs() - this.#startedMs };
    const status = programStatus(program, this.#phase, this.#readChecks(), now);
    return {
      ...status,
      modelServer: {
        target: inference.endpoints.join(','),
        models: [this.#model(status.checks)],
        breakers: this.#breakers.read(),
      },
      vram: this.#triton.vram,
      ingest: this.#ingest(this.#parts.source),
    };
  }

  #model(checks: StatusSnapshot['checks']): ModelStatus {
    const check = checks.find(({ name }) => name === 'model-server');
    const contract = this.#contract;
    return {
      name: this.#config.inference.modelName,
      state: check?.state === 'pass' ? 'ready' : 'not_ready',
      reason: check?.reason ?? null,
      fingerprint: contract?.fingerprint ?? null,
      dims: contract?.dims ?? null,
      maxBatch: contract?.maxBatch ?? null,
      gpuBytes: null,
    };
  }

  #ingest(source: Source | undefined): IngestStatus {
    const status = source?.status();
    const slots = this.#parts.memory?.pool.counts;
    const lag = this.#lag;
    return {
      ...this.#tally.read(systemClock.wallMs()),
      inFlight: { chunks: status?.inFlightChunks ?? 0, bytes: status?.inFlightBytes ?? 0 },
      joined: status?.joined ?? false,
      paused: [...(status?.paused ?? [])],
      waiting: { ...status?.waiting },
      lag: lag === undefined ? null : { messages: this.#lagMessages() ?? 0, at: iso(lag.atMs) },
      partitions: (lag?.partitions ?? []).map((one) => ({
        partition: one.partition,
        lag: Number(one.lag),
        committed: one.committed?.toString() ?? null,
        end: one.end.toString(),
      })),
      slots: slots === undefined ? null : { free: slots.free, leased: slots.leased, quarantined: slots.quarantined },
      retries: this.#retries === undefined ? null : { ...this.#retries },
    };
  }

  #lagMessages(): number | null {
    if (this.#lag === undefined) return null;
    return this.#lag.partitions.reduce((sum, { lag }) => sum + Number(lag), 0);
  }
}

function iso(ms: number): string {
  return new Date(ms).toISOString();
}
