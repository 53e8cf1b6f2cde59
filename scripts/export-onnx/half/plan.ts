/**
 * Which nodes of a graph compute in FP16. Pure.
 *
 * FP32 is the default: a node goes to FP16 only if its operator is on the list below, it works on hidden states (and not
 * on masks, positions or quantised weights, which cost nothing), and it is no part of a LayerNorm that an exporter has
 * taken apart. So softmax, normalisation, quantised operators and whatever is not known here keep their precision.
 */
import type { GraphProto, NodeProto } from '../../onnx/gen/onnx_pb.ts';
import { readsOf } from '../graph/tensor-walk.ts';
import type { ValueType } from '../graph/value-types.ts';

/** Operators that are sound in FP16: products, sums of a few values, moves. */
const HALF_OPERATORS = new Set([
  ...['MatMul', 'Gemm', 'Einsum', 'Add', 'Sub', 'Mul', 'Div', 'Neg', 'Abs', 'Where', 'Max', 'Min', 'Clip'],
  ...['Erf', 'Tanh', 'Sigmoid', 'Relu', 'LeakyRelu', 'Elu', 'Gelu', 'HardSigmoid', 'Identity', 'Dropout'],
  ...['Gather', 'GatherElements', 'GatherND', 'Reshape', 'Transpose', 'Slice', 'Concat', 'Split', 'Unsqueeze'],
  ...['Squeeze', 'Expand', 'Flatten', 'Tile', 'Pad'],
]);
/** They move weights without changing them, where an exporter left that to run time. */
const MOVES = new Set(['Identity', 'Transpose', 'Reshape', 'Squeeze', 'Unsqueeze']);
/** Sizes, not values: what follows from them is no hidden state. */
const SIZES = new Set(['Shape', 'Size']);
/** Their results belong to a quantised product: integers beyond FP16's range, or scales below it. */
const QUANTISED = new Set(['DynamicQuantizeLinear', 'MatMulInteger', 'ConvInteger']);

export type PlanOptions = {
  readonly types: ReadonlyMap<string, ValueType>;
  /** Constants that FP16 cannot stand for. */
  readonly unfit: ReadonlySet<string>;
  /** FLOAT constants of two and more dimensions: weights of products and embeddings, not gains and biases. */
  readonly matrices: ReadonlySet<string>;
};

export function planHalf(graph: GraphProto, options: PlanOptions): ReadonlySet<NodeProto> {
  const isFloat = (name: string) => options.types.get(name)?.type === 'float32';
  const hidden = hiddenValues(graph);
  const precise = preciseNodes(graph, options.types, hidden);
  const moved = movedWeights(graph, options.matrices);
  const plan = graph.node.filter(
    (node) =>
      HALF_OPERATORS.has(node.opType) &&
      node.domain === '' &&
      node.output.some((name) => (hidden.has(name) || moved.has(name)) && isFloat(name)) &&
      !node.input.some((name) => options.unfit.has(name)) &&
      !precise.has(node),
  );
  return new Set(plan);
}

/** Values that follow from the tokens themselves. */
function hiddenValues(graph: GraphProto): Set<string> {
  const hidden = new Set(['input_ids', 'token_type_ids']);
  for (const node of graph.node) {
    if (SIZES.has(node.opType) || !readsOf(node).some((name) => hidden.has(name))) continue;
    for (const name of node.output) hidden.add(name);
  }
  return hidden;
}

function movedWeights(graph: GraphProto, matrices: ReadonlySet<string>): Set<string> {
  const moved = new Set<string>();
  for (const { opType, input, output } of graph.node) {
    const [weight] = input;
    const [result] = output;
    if (weight === undefined || result === undefined || !MOVES.has(opType)) continue;
    if (matrices.has(weight) || moved.has(weight)) moved.add(result);
  }
  return moved;
}

/** Parts of a LayerNorm (or RMSNorm) in pieces, powers, and the arithmetic around quantised products. */
function preciseNodes(graph: GraphProto, types: PlanOptions['types'], hidden: ReadonlySet<string>): Set<NodeProto> {
  const producer = new Map(graph.node.flatMap((node) => node.output.map((name) => [name, node] as const)));
  const readers = new Map<string, NodeProto[]>();
  for (const node of graph.node) for (const name of node.input) readers.set(name, [...(readers.get(name) ?? []), node]);

  const from = (node: NodeProto, ...opTypes: readonly string[]) =>
    node.input.map((name) => producer.get(name)).find((made) => made !== undefined && opTypes.includes(made.opType));
  const into = (node: NodeProto, opType: string) =>
    node.output.flatMap((name) => readers.get(name) ?? []).some((reader) => reader.opType === opType);
  const withWeight = (node: NodeProto) => node.input.some((name) => !hidden.has(name));
  const castFromInteger = (node: NodeProto) => {
    const cast = from(node, 'Cast');
    return cast !== undefined && /^u?int/.test(types.get(cast.input[0]!)?.type ?? '');
  };

  const precise = new Set<NodeProto>();
  const scaled = new Set<NodeProto>();
  for (const node of graph.node) {
    const divided = ['Div', 'Mul'].includes(node.opType) && from(node, 'Sqrt', 'Reciprocal') !== undefined;
    const gain = node.opType === 'Mul' && withWeight(node) && follows(node, producer, scaled);
    const bias = node.opType === 'Add' && withWeight(node) && follows(node, producer, scaled);
    if (divided || gain) scaled.add(node);
    const square = node.opType === 'Mul' && node.input[0] === node.input[1] && into(node, 'ReduceMean');
    const centred = node.opType === 'Sub' && from(node, 'ReduceMean') !== undefined;
    const epsilon = ['Add', 'Max'].includes(node.opType) && into(node, 'Sqrt');
    const power = node.opType === 'Mul' && from(node, 'Pow') !== undefined;
    const quantised = castFromInteger(node) || from(node, ...QUANTISED) !== undefined;
    if (divided || gain || bias || square || centred || epsilon || power || quantised) precise.add(node);
  }
  return precise;
}

function follows(node: NodeProto, producer: ReadonlyMap<string, NodeProto>, set: ReadonlySet<NodeProto>): boolean {
  return node.input.some((name) => {
    const made = producer.get(name);
    return made !== undefined && set.has(made);
  });
}
