/**
 * Configuration of a tokenizer: BYTES [-1, 1] in, ids, mask and types INT64 [-1, tokens] out.
 *
 * Requests are batched here although tokenizing gains nothing by it: rows that leave in one batch have one length, and only
 * requests of one shape can share a batch of the encoder that comes next.
 */

import {
  batching,
  instances,
  type NotedConfig,
  parameters,
  type Queue,
  SERVED,
  textInput,
  tokenTensor,
} from './parts.ts';
import { type ModelType, TEXTS, TOKENS } from './tensor-contract.ts';

export const tokenizerBackends = ['onnx', 'python'] as const;
export type TokenizerBackend = (typeof tokenizerBackends)[number];

export type TokenizerSettings = {
  readonly name: string;
  readonly backend: TokenizerBackend;
  readonly modelType: ModelType;
  readonly maxBatch: number;
  readonly maxTokens: number;
  readonly truncation: string;
  readonly tokenizerSha256?: string | undefined;
  /** Where the server finds the operator library; the graph needs one, the python backend none. */
  readonly libraryPath: string;
  readonly queue: Queue;
  readonly instances: number;
};

export function tokenizerConfig(settings: TokenizerSettings): NotedConfig {
  const { modelType, backend, maxTokens, tokenizerSha256, truncation } = settings;
  const onnx = backend === 'onnx';
  const config = {
    name: settings.name,
    ...(onnx ? { backend: 'onnxruntime', defaultModelFilename: 'model.onnx' } : { backend: 'python' }),
    ...SERVED,
    maxBatchSize: settings.maxBatch,
    input: TEXTS[modelType].map(textInput),
    output: TOKENS.map(tokenTensor),
    schedulingChoice: batching(settings.queue)!,
    instanceGroup: instances({ device: 'cpu', instances: settings.instances })!,
    ...(onnx && { modelOperations: { opLibraryFilename: [settings.libraryPath] } }),
    parameters: parameters({
      ...(onnx && { intra_op_thread_count: '1', inter_op_thread_count: '1' }),
      ...(tokenizerSha256 !== undefined && { tokenizer_sha256: tokenizerSha256 }),
      ...{ max_tokens: String(maxTokens), truncation },
    })!,
  };
  const what = modelType === 'embedding' ? 'texts' : 'pairs of query and passage';
  return {
    config,
    notes: {
      header: [`Tokenizes ${what}: up to ${maxTokens} tokens a row, padded to the longest of the batch.`],
      fields: {
        dynamic_batching: ['Rows that leave together have one length, and can share a batch of the encoder.'],
        ...(onnx && { parameters: ['One thread an instance: the operators of a row follow each other anyway.'] }),
      },
    },
  };
}
