/**
 * From hidden states to one EMBEDDING, and from logits to one SCORE, at the end of a graph.
 *
 * All of it is FP32, whatever the model computes in: a sum over 512 tokens and a sum of squares lose digits in FP16. A
 * row whose mask is all zeros has a mean of zeros and stays finite.
 */
import * as attribute from '../../onnx/attributes.ts';
import { TensorProto_DataType as DataType, type GraphProto } from '../../onnx/gen/onnx_pb.ts';
import { GraphBuilder } from '../../onnx/graph-builder.ts';
import { float32Tensor, int64Tensor } from '../../onnx/tensors.ts';
import { addAxesNode } from './opset.ts';
import type { ModelOutput } from './outputs.ts';

export type Pooling = 'mean' | 'cls';

export type EmbeddingHead = {
  readonly pooling: Pooling;
  readonly normalize: boolean;
  /** Dimensions that are kept, from the first; all when undefined. */
  readonly matryoshka?: number;
  readonly half: boolean;
};

export type ScoreHead = {
  /** Which of the labels is the relevance. */
  readonly label: number;
  readonly sigmoid: boolean;
};

const MIN_NORM = 1e-12;

export function appendEmbedding(graph: GraphProto, hidden: ModelOutput, opset: number, head: EmbeddingHead): void {
  const builder = new GraphBuilder(graph);
  const states = cast(builder, hidden.name, 'pooling/states', DataType.FLOAT);
  const pooled = head.pooling === 'mean' ? mean(builder, states, opset) : first(builder, states);
  const cut = head.matryoshka === undefined ? pooled : slice(builder, pooled, head.matryoshka);
  const vector = head.normalize ? normalized(builder, cut, opset) : cut;
  const type = head.half ? DataType.FLOAT16 : DataType.FLOAT;
  cast(builder, vector, 'EMBEDDING', type);
  graph.output = [];
  builder.output('EMBEDDING', type, ['batch', head.matryoshka ?? hidden.width]);
}

export function appendScore(graph: GraphProto, output: ModelOutput, head: ScoreHead): void {
  const builder = new GraphBuilder(graph);
  const all = cast(builder, output.name, 'score/logits', DataType.FLOAT);
  const table = builder.constant(int64Tensor('score/table', [-1, output.width], [2]));
  builder.node('Reshape', [all, table], ['score/rows']);
  const label = builder.constant(int64Tensor('score/label', [head.label], [1]));
  builder.node('Gather', ['score/rows', label], ['score/logit'], { attributes: { axis: attribute.int(1) } });
  builder.node(head.sigmoid ? 'Sigmoid' : 'Identity', ['score/logit'], ['SCORE']);
  graph.output = [];
  builder.output('SCORE', DataType.FLOAT, ['batch', 1]);
}

function mean(builder: GraphBuilder, states: string, opset: number): string {
  const mask = cast(builder, 'attention_mask', 'pooling/mask', DataType.FLOAT);
  const column = addAxesNode(builder, opset, 'Unsqueeze', { input: mask, output: 'pooling/column', axis: -1 });
  const masked = builder.node('Mul', [states, column], ['pooling/masked']);
  const sum = { input: masked, output: 'pooling/sum', axis: 1, keepdims: false };
  const count = { input: mask, output: 'pooling/count', axis: 1, keepdims: true };
  addAxesNode(builder, opset, 'ReduceSum', sum);
  addAxesNode(builder, opset, 'ReduceSum', count);
  const one = builder.constant(float32Tensor('pooling/one', [1], []));
  builder.node('Max', ['pooling/count', one], ['pooling/divisor']);
  return builder.node('Div', ['pooling/sum', 'pooling/divisor'], ['pooling/mean']);
}

/** The first token, [CLS]: texts are padded on the right, so it is always there. */
function first(builder: GraphBuilder, states: string): string {
  const index = builder.constant(int64Tensor('pooling/first', [0], []));
  return builder.node('Gather', [states, index], ['pooling/cls'], { attributes: { axis: attribute.int(1) } });
}

function slice(builder: GraphBuilder, pooled: string, dims: number): string {
  const constant = (name: string, value: number) => builder.constant(int64Tensor(`pooling/${name}`, [value], [1]));
  const bounds = [constant('from', 0), constant('to', dims), constant('axis', 1)];
  return builder.node('Slice', [pooled, ...bounds], ['pooling/matryoshka']);
}

function normalized(builder: GraphBuilder, vector: string, opset: number): string {
  addAxesNode(builder, opset, 'ReduceL2', { input: vector, output: 'pooling/norm', axis: -1, keepdims: true });
  const least = builder.constant(float32Tensor('pooling/least', [MIN_NORM], []));
  builder.node('Max', ['pooling/norm', least], ['pooling/length']);
  return builder.node('Div', [vector, 'pooling/length'], ['pooling/unit']);
}

function cast(builder: GraphBuilder, from: string, into: string, type: DataType): string {
  return builder.node('Cast', [from], [into], { attributes: { to: attribute.int(type) } });
}
