/**
 * config.pbtxt of a tokenizer model. Names of inputs and outputs are those of the graph.
 *
 * Requests are batched here although tokenizing gains nothing by it: rows that leave in one batch have one length, and only
 * requests of one shape can share a batch of the encoder that comes next.
 */
import { OUTPUTS, type Truncation } from './row-nodes.ts';
import { INPUTS, type ModelType } from './tokenizer-graph.ts';

export const backends = ['onnx', 'python'] as const;
export type Backend = (typeof backends)[number];

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

const WAIT_US = 500;

export function tritonConfig(config: TritonConfig): string {
  const { modelType, backend } = config;
  const what = modelType === 'embedding' ? 'texts' : 'pairs of query and passage';
  const tensor = (type: string, dims: number) => (name: string) =>
    `  { name: ${quoted(name)} data_type: ${type} dims: [ ${dims} ] }`;
  const parameter = (key: string, value: string) =>
    `parameters { key: ${quoted(key)} value { string_value: ${quoted(value)} } }`;
  return [
    `# Tokenizes ${what}: up to ${config.maxTokens} tokens a row, padded to the longest of the batch. Written by export-tokenizer.`,
    `name: ${quoted(config.name)}`,
    `backend: ${quoted(backend === 'onnx' ? 'onnxruntime' : 'python')}`,
    `max_batch_size: ${config.maxBatch}`,
    'input [',
    INPUTS[modelType].map(tensor('TYPE_STRING', 1)).join(',\n'),
    ']',
    'output [',
    OUTPUTS.map(tensor('TYPE_INT64', -1)).join(',\n'),
    ']',
    `dynamic_batching { max_queue_delay_microseconds: ${WAIT_US} }`,
    'instance_group [ { kind: KIND_CPU count: 1 } ]',
    ...(backend === 'onnx'
      ? [
          `model_operations { op_library_filename: ${quoted(config.libraryPath)} }`,
          // One thread an instance: the operators of a row follow each other anyway.
          parameter('intra_op_thread_count', '1'),
          parameter('inter_op_thread_count', '1'),
        ]
      : []),
    parameter('tokenizer_sha256', config.tokenizerSha256),
    parameter('max_tokens', String(config.maxTokens)),
    parameter('truncation', config.truncation),
    '',
  ].join('\n');
}

function quoted(text: string): string {
  return `"${text.replace(/["\\]/g, '\\$&')}"`;
}
