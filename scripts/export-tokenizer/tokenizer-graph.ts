/** A tokenizer as one ONNX graph: texts, or pairs of them, to ids, mask and types. */

import { type ModelType, TEXTS, TOKENS } from '../model-config/tensor-contract.ts';
import { int } from '../onnx/attributes.ts';
import type { ModelProto } from '../onnx/gen/onnx_pb.ts';
import { GraphBuilder } from '../onnx/graph-builder.ts';
import { composeModel } from '../onnx/model-file.ts';
import { DataType } from '../onnx/tensors.ts';
import { characterTable } from './character-table.ts';
import { addSharedConstants, MODEL_VERSIONS } from './operators.ts';
import { addPairRows, addTextRows, type Truncation } from './row-nodes.ts';
import { addTokenNodes } from './text-nodes.ts';
import type { WordPieceTokenizer } from './tokenizer-file.ts';

export type GraphOptions = {
  readonly modelType: ModelType;
  /** Longest row, special tokens included. */
  readonly maxTokens: number;
  /** How a pair is cut. */
  readonly truncation: Truncation;
  readonly producerVersion: string;
};

export function tokenizerModel(tokenizer: WordPieceTokenizer, options: GraphOptions): ModelProto {
  const { modelType, maxTokens, truncation } = options;
  const graph = new GraphBuilder('tokenizer');
  addSharedConstants(graph);
  for (const name of TEXTS[modelType]) {
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
  for (const name of TOKENS) graph.output(name, DataType.INT64, ['batch', 'tokens']);
  return composeModel(graph.graph, {
    ...MODEL_VERSIONS,
    producer: 'rag-inference-serving export-tokenizer',
    producerVersion: options.producerVersion,
  });
}
