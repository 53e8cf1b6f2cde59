/** Configuration of an ensemble, which is what clients call: texts in, vectors or scores out, tokens in between. */
import { DataType } from '../../src/kserve/gen/model_config_pb.ts';
import type { Pool } from '../pools.ts';
import { contractParameters, type ModelIdentity } from './identity.ts';
import { type NotedConfig, parameters, SERVED, textInput } from './parts.ts';
import { ANSWER, TEXTS, TOKENS } from './tensor-contract.ts';

export type EnsembleSettings = {
  readonly pool: Pool;
  readonly identity: ModelIdentity;
  /** Inputs of the encoder. */
  readonly inputs: readonly string[];
  readonly maxTokens: number;
  readonly fingerprint: string;
};

const WHAT = { embedding: 'a text to its vector', reranker: 'a query and a passage to their score' } as const;

export function ensembleConfig({ pool, identity, inputs, maxTokens, fingerprint }: EnsembleSettings): NotedConfig {
  const { modelType } = pool;
  const dataType = identity.dtype === 'FP16' ? DataType.TYPE_FP16 : DataType.TYPE_FP32;
  const answer = ANSWER[modelType];
  const latest = { modelVersion: -1n } as const;
  const tokens = TOKENS.filter((name) => inputs.includes(name.toLowerCase()));
  return {
    config: {
      name: pool.ensemble,
      platform: 'ensemble',
      ...SERVED,
      maxBatchSize: pool.maxBatch,
      input: TEXTS[modelType].map(textInput),
      output: [{ name: answer, dataType, dims: [BigInt(identity.dims)] }],
      schedulingChoice: {
        case: 'ensembleScheduling',
        value: {
          step: [
            {
              ...{ modelName: pool.tokenizer, ...latest },
              inputMap: same(TEXTS[modelType]),
              outputMap: Object.fromEntries(tokens.map((name) => [name, name.toLowerCase()])),
            },
            { modelName: pool.encoder, ...latest, inputMap: same(inputs), outputMap: same([answer]) },
          ],
        },
      },
      parameters: parameters({ fingerprint, ...contractParameters(identity, maxTokens) })!,
    },
    notes: {
      header: [`What clients call: ${WHAT[modelType]}, up to ${pool.maxBatch} rows a request.`],
      fields: { parameters: ['The fingerprint is written with every vector: a collection takes vectors of one only.'] },
    },
  };
}

function same(names: readonly string[]): Record<string, string> {
  return Object.fromEntries(names.map((name) => [name, name]));
}
