/**
 * LayerNorm in pieces becomes the one operator, where the opset has it (17 and later).
 *
 * Not for speed: onnxruntime fuses the pieces itself when it loads the model, and looks through the casts around them.
 * With FP16 on one side and FP32 gains on the other it then makes an operator of two types, which it refuses to load.
 * Before opset 17 its operator may have two types, and the pieces stay.
 */
import { create } from '@bufbuild/protobuf';
import * as attribute from '../../onnx/attributes.ts';
import { type GraphProto, type NodeProto, NodeProtoSchema } from '../../onnx/gen/onnx_pb.ts';
import { prune } from '../graph/prune.ts';

export const LAYER_NORM_SINCE = 17;

/** Value of a constant of one number; undefined for any other name. */
export type ScalarOf = (name: string) => number | undefined;

export function joinLayerNorms(graph: GraphProto, isConstant: (name: string) => boolean, scalarOf: ScalarOf): void {
  const maker = new Map(graph.node.flatMap((node) => node.output.map((name) => [name, node] as const)));
  const made = (name: string | undefined, opType: string) => {
    const node = name === undefined ? undefined : maker.get(name);
    return node?.opType === opType ? node : undefined;
  };
  const joined = graph.node.map((node) => joinedAt(node, made, isConstant, scalarOf) ?? node);
  const changed = joined.some((node, index) => node !== graph.node[index]);
  graph.node = joined;
  // The pieces are read by nobody now, unless another node reads one of them.
  if (changed) prune(graph);
}

type Made = (name: string | undefined, opType: string) => NodeProto | undefined;

/** The operator in place of the last of the pieces; undefined for a node that ends no LayerNorm. */
function joinedAt(
  bias: NodeProto,
  made: Made,
  isConstant: (name: string) => boolean,
  scalarOf: ScalarOf,
): NodeProto | undefined {
  const add = split(bias, 'Add', isConstant);
  const gain = made(add?.value, 'Mul');
  const mul = gain && split(gain, 'Mul', isConstant);
  const div = made(mul?.value, 'Div');
  const [centred, deviation] = div?.input ?? [];
  const sub = made(centred, 'Sub');
  const [input, mean] = sub?.input ?? [];
  const root = made(deviation, 'Sqrt');
  const safe = made(root?.input[0], 'Add');
  const epsilonName = safe?.input.find((name) => scalarOf(name) !== undefined);
  const variance = made(
    safe?.input.find((name) => name !== epsilonName),
    'ReduceMean',
  );
  const square = made(variance?.input[0], 'Pow') ?? made(variance?.input[0], 'Mul');
  const squared =
    square?.input[0] === centred && (square?.opType === 'Mul' ? square.input[1] === centred : isTwo(square));
  const means = [made(mean, 'ReduceMean'), variance];
  const overLast = means.every((node) => node !== undefined && isOverLast(node));
  if (input === undefined || epsilonName === undefined || !squared || !overLast || means[0]?.input[0] !== input) {
    return undefined;
  }
  return create(NodeProtoSchema, {
    opType: 'LayerNormalization',
    name: `LayerNormalization_${bias.output[0]}`,
    input: [input, mul!.constant, add!.constant],
    output: bias.output,
    attribute: [attribute.int(-1)('axis'), attribute.float(scalarOf(epsilonName)!)('epsilon')],
  });

  function isTwo(power: NodeProto | undefined): boolean {
    return power?.input[1] !== undefined && scalarOf(power.input[1]) === 2;
  }

  function isOverLast(node: NodeProto): boolean {
    const axes = node.attribute.find(({ name }) => name === 'axes')?.ints;
    if (axes !== undefined) return axes.length === 1 && axes[0] === -1n;
    return node.input[1] !== undefined && scalarOf(node.input[1]) === -1;
  }
}

function split(
  node: NodeProto,
  opType: string,
  isConstant: (name: string) => boolean,
): { readonly value: string; readonly constant: string } | undefined {
  const constant = node.opType === opType ? node.input.find(isConstant) : undefined;
  const value = node.input.find((name) => name !== constant);
  return constant === undefined || value === undefined ? undefined : { value, constant };
}
