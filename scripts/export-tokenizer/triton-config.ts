/** config.pbtxt of a tokenizer by itself, as the pool has it whose batch is the same. */
import { create } from '@bufbuild/protobuf';
import { ModelConfigSchema } from '../../src/kserve/gen/model_config_pb.ts';
import { printConfig } from '../model-config/print.ts';
import { tokenizerQueue } from '../model-config/queues.ts';
import { type TokenizerBackend, tokenizerBackends, tokenizerConfig } from '../model-config/tokenizer-config.ts';
import { pools } from '../pools.ts';
import type { Truncation } from './row-nodes.ts';
import type { ModelType } from './tokenizer-graph.ts';

export const backends = tokenizerBackends;
export type Backend = TokenizerBackend;

export type TritonConfig = {
  readonly name: string;
  readonly backend: Backend;
  readonly modelType: ModelType;
  readonly maxBatch: number;
  readonly maxTokens: number;
  readonly truncation: Truncation;
  readonly tokenizerSha256: string;
  /** Where the server finds the operator library; the graph needs one, the python backend none. */
  readonly libraryPath: string;
};

export function tritonConfig(config: TritonConfig): string {
  const fitting = Object.values(pools).filter(({ modelType }) => modelType === config.modelType);
  const pool = fitting.find(({ maxBatch }) => maxBatch === config.maxBatch) ?? fitting[0]!;
  const settings = { ...config, queue: tokenizerQueue(pool), instances: pool.tokenizerInstances };
  const { config: init, notes } = tokenizerConfig(settings);
  return printConfig(create(ModelConfigSchema, init), notes);
}
