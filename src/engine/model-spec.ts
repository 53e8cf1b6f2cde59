/** The three models of the engine: names, tensors and limits of the pools that a real deployment serves from Triton. */
import type { QueuePolicy } from './scheduler.ts';

export type ModelSpec = {
  readonly name: string;
  readonly version: string;
  readonly platform: string;
  /** Names of the inputs: each is BYTES [-1, 1]. */
  readonly inputs: readonly string[];
  readonly output: { readonly name: string; readonly datatype: 'FP16' | 'FP32'; readonly dims: number };
  readonly queue: QueuePolicy;
  /** `parameters` of the model config. */
  readonly parameters: Readonly<Record<string, string>>;
};

export type ModelKind = 'batch-embedder' | 'online-embedder' | 'online-reranker';

export type SpecOptions = {
  readonly platform: string;
  readonly dims: number;
  readonly fingerprint: string;
  /** Further `parameters`, the same for all models. */
  readonly parameters: Readonly<Record<string, string>>;
  /** What a reranker's score is made of. */
  readonly scoredBy: string;
  /** Requests waiting at each model; 0 = no limit. */
  readonly maxQueueSize: number;
  readonly defaultTimeoutUs: number;
  /** Instead of the pool's own queue delay. */
  readonly queueDelayUs?: number;
};

const POOLS = {
  'batch-embedder': { name: 'batch_embedder_ensemble', maxBatch: 256, maxDelayUs: 50_000 },
  'online-embedder': { name: 'online_embedder_ensemble', maxBatch: 32, maxDelayUs: 2_000 },
  'online-reranker': { name: 'online_reranker_ensemble', maxBatch: 32, maxDelayUs: 4_000 },
} as const satisfies Record<ModelKind, { name: string; maxBatch: number; maxDelayUs: number }>;

export const modelKinds = Object.keys(POOLS) as ModelKind[];

export function modelSpec(kind: ModelKind, options: SpecOptions): ModelSpec {
  const { name, maxBatch, maxDelayUs } = POOLS[kind];
  const reranks = kind === 'online-reranker';
  return {
    name,
    version: '1',
    platform: options.platform,
    inputs: reranks ? ['QUERY', 'PASSAGE'] : ['TEXT'],
    output: reranks
      ? { name: 'SCORE', datatype: 'FP32', dims: 1 }
      : { name: 'EMBEDDING', datatype: 'FP16', dims: options.dims },
    queue: {
      maxBatch,
      maxDelayUs: options.queueDelayUs ?? maxDelayUs,
      maxQueueSize: options.maxQueueSize,
      defaultTimeoutUs: options.defaultTimeoutUs,
    },
    parameters: {
      ...options.parameters,
      fingerprint: options.fingerprint,
      ...(reranks && { scored_by: options.scoredBy }),
    },
  };
}

export function rowBytes(spec: ModelSpec): number {
  return spec.output.dims * (spec.output.datatype === 'FP16' ? 2 : 4);
}
