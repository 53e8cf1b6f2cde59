/** A tokenizer as one ONNX graph: texts, or pairs of them, to ids, mask and types. */

import { int } from '../onnx/attributes.ts';
import type { ModelProto } from '../onnx/gen/onnx_pb.ts';
import { GraphBuilder } from '../onnx/graph-builder.ts';
import { composeModel } from '../onnx/model-file.ts';
import { DataType } from '../onnx/tensors.ts';
import { characterTable } from './character-table.ts';
import { addSharedConstants, MODEL_VERSIONS } from './operators.ts';
import { addPairRows, addTextRows, OUTPUTS, type Truncation } from './row-nodes.ts';
import { addTokenNodes } from './text-nodes.ts';
import type { WordPieceTokenizer } from './tokenizer-file.ts';

export const modelTypes = ['embedding', 'reranker'] as const;
export type ModelType = (typeof modelTypes)[number];

export type GraphOptions = {
  readonly modelType: ModelType;
  /** Longest row, special tokens included. */
  readonly maxTokens: number;
  /** How a pair is cut. */
  readonly truncation: Truncation;
  readonly producerVersion: string;
};

/** Inputs by the kind of model: each BYTES [batch, 1]. */
export const INPUTS: Readonly<Record<ModelType, readonly string[]>> = {
  embedding: ['TEXT'],
  reranker: ['QUERY', 'PASSAGE'],
};

export function tokenizerModel(tokenizer: WordPieceTokenizer, options: GraphOptions): ModelProto {
  const { modelType, maxTokens, truncation } = options;
  const graph = new GraphBuilder('tokenizer');
  addSharedConstants(graph);
  for (const name of INPUTS[modelType]) {
    graph.input(name, DataType.STRING, ['batch', 1]);
    graph.node('Reshape', [name, 'all'], [`${name}_list`]);
  }
  const table = characterTable(tokenizer);
  if (modelType === 'embedding') {
    addTextRows(graph, addTokenNodes(graph, 'TEXT_list', tokenizer, table), tokenizer, maxTokens);
  } else {
    // One pass over both sides: the graph holds its tables once.
    graph.node('Concat', ['QUERY_list', 'PASSAGE_list'], ['both_lists'], { attributes: { axis: int(0) } });
    addPairRows(graph, addTokenNodes(graph, 'both_lists', tokenizer, table), tokenizer, maxTokens, truncation);
  }
  for (const name of OUTPUTS) graph.output(name, DataType.INT64, ['batch', 'tokens']);
  return composeModel(graph.graph, {
    ...MODEL_VERSIONS,
    producer: 'rag-inference-serving export-tokenizer',
    producerVersion: options.producerVersion,
  });
}
