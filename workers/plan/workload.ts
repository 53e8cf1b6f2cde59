/** What a plan is made for, and the assumptions it starts from. Pure. */
import type { VectorDtype } from '../../src/kserve/contract.ts';

export const gpus = ['l4', 'a10g'] as const;
export type Gpu = (typeof gpus)[number];

/**
 * Chunks a second of one GPU with an embedder of about 22 million parameters, FP16, texts of 700 bytes: the figures that
 * this project is designed for, not measurements of your model. `--gpu-rate` puts yours in their place.
 */
export const designRate: Readonly<Record<Gpu, number>> = { l4: 2_500, a10g: 3_500 };
/** Both have 24 GB. */
export const gpuMemoryBytes: Readonly<Record<Gpu, number>> = { l4: 24 * 2 ** 30, a10g: 24 * 2 ** 30 };

export const planSinks = ['redis', 'pgvector', 'lancedb'] as const;

export type Workload = {
  /** Chunks that are there already and wait to be embedded. */
  readonly chunks: number;
  /** New chunks a second, at the peak. */
  readonly rate: number;
  /** The backlog must be gone after so long. */
  readonly withinSeconds: number;
  readonly gpu: Gpu;
  /** Chunks a second of one GPU. */
  readonly gpuRate: number;
  /** Whether `gpuRate` was given. */
  readonly isMeasured: boolean;
  /** Share of the GPUs' rate that is kept free, 0 to below 1: evictions, rebalances, longer texts. */
  readonly headroom: number;
  readonly textBytes: number;
  readonly chunksPerMessage: number;
  readonly dims: number;
  readonly dtype: VectorDtype;
  readonly modelParameters: number;
  readonly retentionSeconds: number;
  readonly replication: number;
  readonly sink: (typeof planSinks)[number];
  readonly storesText: boolean;
  /** Price of one pod and its machine for an hour, in any currency. */
  readonly podHourPrice: number | undefined;
};

/** Settings of the worker that the arithmetic needs, as its environment has them. */
export type WorkerFacts = {
  readonly slots: number;
  readonly slotInputBytes: number;
  readonly batchSize: number;
  readonly maxInFlightBytes: number;
  readonly maxStaticVramBytes: number;
  readonly vramMaxUtilizationRatio: number;
};
