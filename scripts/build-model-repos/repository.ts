/** The three models of a pool as configurations: tokenizer, encoder, and the ensemble that clients call. Decides, writes nothing. */
import { create } from '@bufbuild/protobuf';
import { type ModelConfig, ModelConfigSchema } from '../../src/kserve/gen/model_config_pb.ts';
import { LIBRARY_FILE } from '../export-tokenizer/op-library.ts';
import { encoderConfig, type Runtime, type Shape } from '../model-config/encoder-config.ts';
import { ensembleConfig } from '../model-config/ensemble-config.ts';
import { fingerprintOf, type ModelIdentity } from '../model-config/identity.ts';
import type { NotedConfig, Placement } from '../model-config/parts.ts';
import { printConfig } from '../model-config/print.ts';
import { encoderQueue, tokenizerQueue } from '../model-config/queues.ts';
import { type TokenizerBackend, tokenizerConfig } from '../model-config/tokenizer-config.ts';
import { type Pool, pools } from '../pools.ts';

export type RepositorySettings = {
  readonly pool: Pool;
  readonly runtime: Runtime;
  readonly identity: ModelIdentity;
  /** Inputs of the encoder. */
  readonly inputs: readonly string[];
  readonly tokenizer: { readonly backend: TokenizerBackend; readonly truncation: string };
  readonly maxTokens: number;
  readonly placement: Placement;
  readonly cudaGraphs: readonly Shape[];
  /** Folder with the models of this repository as the server sees it. */
  readonly servedFrom: string;
  /** Instead of the one that follows from the model. */
  readonly fingerprint?: string | undefined;
};

export type RenderedModel = { readonly name: string; readonly config: ModelConfig; readonly text: string };

/** A CPU is a hundred times as slow as what the online deadlines are made for: there a request waits as in the batch pool. */
const CPU_TIMEOUT_MICROSECONDS = pools.batch_ingestion.queueTimeoutMicroseconds;

export function renderRepository(settings: RepositorySettings): RenderedModel[] {
  const { pool, identity, inputs, maxTokens, tokenizer } = settings;
  const cpu = settings.placement.device === 'cpu';
  const timeout = cpu ? CPU_TIMEOUT_MICROSECONDS : pool.queueTimeoutMicroseconds;
  const fingerprint = settings.fingerprint ?? fingerprintOf(identity, maxTokens);
  return [
    tokenizerConfig({
      ...tokenizer,
      ...{ name: pool.tokenizer, modelType: pool.modelType, maxBatch: pool.maxBatch, maxTokens },
      tokenizerSha256: identity.tokenizerSha256,
      libraryPath: `${settings.servedFrom.replace(/\/+$/, '')}/${pool.tokenizer}/${LIBRARY_FILE}`,
      queue: tokenizerQueue(pool, timeout),
      // On a CPU the encoder takes all the time there is.
      instances: cpu ? 1 : pool.tokenizerInstances,
    }),
    encoderConfig({ ...settings, queue: encoderQueue(pool, timeout) }),
    ensembleConfig({ pool, identity, inputs, maxTokens, fingerprint }),
  ].map(render);
}

/** Several pools in one repository, for one server on one machine. A model that they share takes the larger batch. */
export function mergeRepositories(repositories: readonly (readonly RenderedModel[])[]): RenderedModel[] {
  const merged = new Map<string, RenderedModel>();
  for (const model of repositories.flat()) {
    const before = merged.get(model.name);
    if (before === undefined || before.config.maxBatchSize < model.config.maxBatchSize) merged.set(model.name, model);
  }
  return [...merged.values()];
}

function render({ config: init, notes }: NotedConfig): RenderedModel {
  const config = create(ModelConfigSchema, init);
  return { name: config.name, config, text: printConfig(config, notes) };
}
