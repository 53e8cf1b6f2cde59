/** Whether the three models of a pool are what the pool is: its names, its batch, its waits; and whether tokenizer and encoder agree. */
import type { ModelConfig } from '../../../src/kserve/gen/model_config_pb.ts';
import { type Pool, pools } from '../../pools.ts';
import { parameterOf } from './one-model.ts';

/** Problems of the model that a problem is about. */
export type Found = { readonly model: string; readonly message: string };

export function pipelineProblems(models: ReadonlyMap<string, ModelConfig>): Found[] {
  return Object.values(pools).flatMap((pool) => {
    const [ensemble, tokenizer, encoder] = [pool.ensemble, pool.tokenizer, pool.encoder].map((name) =>
      models.get(name),
    );
    if (ensemble === undefined) return [];
    const missing = [pool.tokenizer, pool.encoder].filter((name) => !models.has(name));
    if (tokenizer === undefined || encoder === undefined) {
      return missing.map((name) => ({
        model: pool.ensemble,
        message: `the pool's model ${name} is not in the repository`,
      }));
    }
    return [...poolProblems(pool, { ensemble, encoder }), ...agreementProblems(pool, { ensemble, tokenizer, encoder })];
  });
}

function poolProblems(pool: Pool, { ensemble, encoder }: Record<'ensemble' | 'encoder', ModelConfig>): Found[] {
  const about = (model: string, name: string, found: unknown, wanted: unknown): Found[] =>
    String(found) === String(wanted) ? [] : [{ model, message: `${name} is ${found}, and the pool's is ${wanted}` }];
  const batching = encoder.schedulingChoice.case === 'dynamicBatching' ? encoder.schedulingChoice.value : undefined;
  const maxTokens = Number(parameterOf(encoder, 'max_tokens'));
  const { preferredBatchSize = [], maxQueueDelayMicroseconds = 0n, defaultQueuePolicy } = batching ?? {};
  return [
    ...about(pool.ensemble, 'max_batch_size', ensemble.maxBatchSize, pool.maxBatch),
    ...about(pool.encoder, 'max_batch_size', encoder.maxBatchSize, pool.maxBatch),
    ...about(pool.encoder, 'max_queue_delay_microseconds', maxQueueDelayMicroseconds, pool.queueDelayMicroseconds),
    ...about(pool.encoder, 'preferred_batch_size', preferredBatchSize, pool.preferredBatchSizes),
    ...about(pool.encoder, 'max_queue_size', defaultQueuePolicy?.maxQueueSize ?? 0, pool.maxQueuedRequests),
    ...(maxTokens <= pool.maxTokens
      ? []
      : [{ model: pool.encoder, message: `max_tokens is ${maxTokens}, and the pool takes ${pool.maxTokens}` }]),
    ...(parameterOf(ensemble, 'fingerprint')
      ? []
      : [
          {
            model: pool.ensemble,
            message: 'parameter fingerprint is missing: vectors could not be told from those of another model',
          },
        ]),
  ];
}

/** Rows cut elsewhere than where the encoder ends, or ids of another vocabulary, give wrong vectors without any error. */
function agreementProblems(pool: Pool, models: Record<'ensemble' | 'tokenizer' | 'encoder', ModelConfig>): Found[] {
  const { ensemble, tokenizer, encoder } = models;
  const differing = (model: string, name: string, left: ModelConfig, right: ModelConfig): Found[] => {
    const [mine, other] = [parameterOf(left, name), parameterOf(right, name)];
    if (mine === other) return [];
    return [
      { model, message: `parameter ${name} is ${mine ?? 'missing'}, and ${other ?? 'missing'} in ${right.name}` },
    ];
  };
  return [
    ...['max_tokens', 'tokenizer_sha256'].flatMap((name) => differing(pool.tokenizer, name, tokenizer, encoder)),
    ...['max_tokens', 'tokenizer_sha256', 'source_sha256', 'dims', 'dtype', 'head'].flatMap((name) =>
      differing(pool.ensemble, name, ensemble, encoder),
    ),
  ];
}
