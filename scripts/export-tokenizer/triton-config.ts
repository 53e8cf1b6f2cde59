/** config.pbtxt of a tokenizer by itself, as the pool has it whose batch is the same. */
import { create } from '@bufbuild/protobuf';
import { ModelConfigSchema } from '../../src/kserve/gen/model_config_pb.ts';
import { printConfig } from '../model-config/print.ts';
import { tokenizerQueue } from '../model-config/queues.ts';
import { type TokenizerSettings, tokenizerConfig } from '../model-config/tokenizer-config.ts';
import { pools } from '../pools.ts';

export type TritonConfig = Omit<TokenizerSettings, 'queue' | 'instances'>;

export function tritonConfig(config: TritonConfig): string {
  const fitting = Object.values(pools).filter(({ modelType }) => modelType === config.modelType);
  const pool = fitting.find(({ maxBatch }) => maxBatch === config.maxBatch) ?? fitting[0]!;
  const settings = { ...config, queue: tokenizerQueue(pool), instances: pool.tokenizerInstances };
  const { config: init, notes } = tokenizerConfig(settings);
  return printConfig(create(ModelConfigSchema, init), notes);
}
