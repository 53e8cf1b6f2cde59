/**
 * Rewrites a graph so that the planned nodes compute in FP16.
 *
 * A value keeps its name in FP32 and has a second one in FP16; whichever it is not made in is cast right behind the node
 * that makes it, once, and only if someone reads it. What is read inside the body of an If or a Loop, and the outputs of
 * the graph, are FP32: those names never change.
 */
import { create } from '@bufbuild/protobuf';
import * as attribute from '../../onnx/attributes.ts';
import {
  TensorProto_DataType as DataType,
  type ModelProto,
  type NodeProto,
  NodeProtoSchema,
  type TensorProto,
} from '../../onnx/gen/onnx_pb.ts';
import { capturesOf } from '../graph/tensor-walk.ts';
import { inferTypes } from '../graph/value-types.ts';
import { fitsHalf, floatsOf, halfTensor, numberOf } from './floats.ts';
import { joinLayerNorms, LAYER_NORM_SINCE } from './layer-norm.ts';
import { replaceMasks } from './masks.ts';
import { planHalf } from './plan.ts';

export type HalfReport = {
  /** Nodes in FP16. */
  readonly halfNodes: number;
  /** Operators with floating-point results that stay in FP32, and how many of each; constants and casts are not counted. */
  readonly float32Nodes: Readonly<Record<string, number>>;
  readonly masksReplaced: number;
  /** Values that are FP16 anywhere, computed so or cast, by their FP32 names. */
  readonly halfValues: readonly string[];
};

const NOT_COUNTED = new Set(['Constant', 'Cast']);
const halfName = (name: string) => `${name}/fp16`;

/** Changes `model`. The graph's outputs stay FP32. */
export async function convertToHalf(model: ModelProto, opset: number): Promise<HalfReport> {
  const graph = model.graph!;
  const masksReplaced = replaceMasks(graph);
  if (opset >= LAYER_NORM_SINCE) {
    const known = constantTensors(graph.initializer, graph.node);
    joinLayerNorms(
      graph,
      (name) => known.has(name),
      (name) => numberOf(known.get(name)),
    );
  }
  const types = await inferTypes(model);
  const isFloat = (name: string) => types.get(name)?.type === 'float32';
  const constants = constantTensors(graph.initializer, graph.node);
  const floats = [...constants].filter(([, tensor]) => isFloatTensor(tensor));
  const half = planHalf(graph, {
    types,
    unfit: namesOf(floats.filter(([, tensor]) => !fitsHalf(floatsOf(tensor)))),
    matrices: namesOf(floats.filter(([, { dims }]) => dims.length >= 2)),
  });

  const reads = new Set(graph.node.filter((node) => half.has(node)).flatMap(({ input }) => input.filter(isFloatValue)));
  const readsFloat = new Set([
    ...graph.node.filter((node) => !half.has(node)).flatMap(({ input }) => input),
    ...graph.node.flatMap(capturesOf),
    ...graph.output.map(({ name }) => name),
  ]);
  function isFloatValue(name: string): boolean {
    const constant = constants.get(name);
    return constant === undefined ? isFloat(name) : isFloatTensor(constant);
  }

  const nodes: NodeProto[] = [];
  const halfValues: string[] = [];
  for (const node of graph.node) {
    const made = node.output.filter((name) => name !== '' && isFloatValue(name));
    if (half.has(node)) {
      node.input = node.input.map((name) => (reads.has(name) ? halfName(name) : name));
      node.output = node.output.map((name) => (made.includes(name) ? halfName(name) : name));
      halfValues.push(...made);
      nodes.push(node, ...made.filter((name) => readsFloat.has(name)).map((name) => castNode(halfName(name), name)));
      continue;
    }
    const wanted = made.filter((name) => reads.has(name));
    const constant = node.opType === 'Constant' ? constants.get(node.output[0]!) : undefined;
    if (constant !== undefined && wanted.length > 0) {
      graph.initializer.push(halfTensor(constant, halfName(node.output[0]!)));
      if (readsFloat.has(node.output[0]!)) nodes.push(node);
      continue;
    }
    halfValues.push(...wanted);
    nodes.push(node, ...wanted.map((name) => castNode(name, halfName(name), DataType.FLOAT16)));
  }
  graph.node = nodes;
  graph.initializer = graph.initializer.flatMap((tensor) => {
    if (!isFloatTensor(tensor) || !reads.has(tensor.name)) return [tensor];
    const converted = halfTensor(tensor, halfName(tensor.name));
    return readsFloat.has(tensor.name) ? [tensor, converted] : [converted];
  });
  // They say FP32 of values that no longer exist; every runtime infers its own.
  graph.valueInfo = [];
  return {
    halfNodes: half.size,
    float32Nodes: countFloat32(graph.node, half, isFloatValue),
    masksReplaced,
    halfValues,
  };
}

function castNode(from: string, into: string, to: DataType = DataType.FLOAT): NodeProto {
  return create(NodeProtoSchema, {
    opType: 'Cast',
    name: `Cast_${into}`,
    input: [from],
    output: [into],
    attribute: [attribute.int(to)('to')],
  });
}

/** Initializers, and what Constant nodes hold as a tensor. */
function constantTensors(initializers: readonly TensorProto[], nodes: readonly NodeProto[]): Map<string, TensorProto> {
  const held = nodes.flatMap((node) => {
    const value = node.opType === 'Constant' ? node.attribute.find(({ name }) => name === 'value')?.t : undefined;
    return value === undefined ? [] : [[node.output[0]!, value] as const];
  });
  return new Map([...initializers.map((tensor) => [tensor.name, tensor] as const), ...held]);
}

function namesOf(entries: readonly (readonly [string, TensorProto])[]): Set<string> {
  return new Set(entries.map(([name]) => name));
}

function isFloatTensor({ dataType }: TensorProto): boolean {
  return dataType === DataType.FLOAT;
}

function countFloat32(
  nodes: readonly NodeProto[],
  half: ReadonlySet<NodeProto>,
  isFloatValue: (name: string) => boolean,
): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const node of nodes) {
    if (half.has(node) || NOT_COUNTED.has(node.opType) || !node.output.some(isFloatValue)) continue;
    counts[node.opType] = (counts[node.opType] ?? 0) + 1;
  }
  return counts;
}
