/**
 * The three pools: what their models are called, and how many rows of how many tokens a request may have. Engines are built for
 * these shapes and repositories are configured for them; both read them here, so that they cannot differ.
 */
import type { ModelType } from './model-config/tensor-contract.ts';

export type ProfileName = 'online_embed' | 'online_rerank' | 'batch_ingestion';

export type Pool = {
  readonly profile: ProfileName;
  /** Folder of the pool's repository below model-repos/. */
  readonly repository: 'online_embedding' | 'online_reranker' | 'batch_ingestion';
  readonly modelType: ModelType;
  /** What clients call. */
  readonly ensemble: string;
  readonly tokenizer: string;
  readonly encoder: string;
  /** Rows of a request, and of an execution. */
  readonly maxBatch: number;
  /** Tokens of a row, special tokens included. */
  readonly maxTokens: number;
  /** How long the encoder waits for more rows. */
  readonly queueDelayMicroseconds: number;
  /** Batch sizes that the encoder sends off without waiting. */
  readonly preferredBatchSizes: readonly number[];
  /** Requests that wait before each model of the pipeline; what comes on top is refused at once. */
  readonly maxQueuedRequests: number;
  /** The pool's deadline: a request that has waited for so long has no caller any more. */
  readonly queueTimeoutMicroseconds: number;
  /** Tokenizers that run at a time; one does some 6,000 texts of 1,000 characters a second. */
  readonly tokenizerInstances: number;
  /** The shape that TensorRT chooses its kernels for: what such a pool sees most. */
  readonly usual: { readonly batch: number; readonly tokens: number };
};

export const pools: Readonly<Record<ProfileName, Pool>> = {
  online_embed: {
    profile: 'online_embed',
    repository: 'online_embedding',
    modelType: 'embedding',
    ensemble: 'online_embedder_ensemble',
    tokenizer: 'text_tokenizer',
    encoder: 'dense_embedder_trt',
    maxBatch: 32,
    maxTokens: 512,
    queueDelayMicroseconds: 2_000,
    preferredBatchSizes: [8, 16, 32],
    maxQueuedRequests: 128,
    queueTimeoutMicroseconds: 15_000,
    tokenizerInstances: 1,
    usual: { batch: 8, tokens: 64 },
  },
  online_rerank: {
    profile: 'online_rerank',
    repository: 'online_reranker',
    modelType: 'reranker',
    ensemble: 'online_reranker_ensemble',
    tokenizer: 'pair_tokenizer',
    encoder: 'cross_encoder_trt',
    maxBatch: 32,
    maxTokens: 2_048,
    queueDelayMicroseconds: 4_000,
    preferredBatchSizes: [16, 32],
    maxQueuedRequests: 32,
    queueTimeoutMicroseconds: 35_000,
    tokenizerInstances: 2,
    usual: { batch: 32, tokens: 256 },
  },
  batch_ingestion: {
    profile: 'batch_ingestion',
    repository: 'batch_ingestion',
    modelType: 'embedding',
    ensemble: 'batch_embedder_ensemble',
    tokenizer: 'text_tokenizer',
    encoder: 'batch_embedder_trt',
    maxBatch: 256,
    maxTokens: 512,
    queueDelayMicroseconds: 50_000,
    preferredBatchSizes: [128, 256],
    maxQueuedRequests: 256,
    queueTimeoutMicroseconds: 30_000_000,
    tokenizerInstances: 2,
    usual: { batch: 256, tokens: 256 },
  },
};

/** How long a tokenizer waits for more rows: those that leave together have one length, and can share a batch of the encoder. */
export const TOKENIZER_QUEUE_DELAY_MICROSECONDS = 500;
