/**
 * Which versions of ONNX are taken, and the form that reductions have in each.
 *
 * A model keeps its own opset: converting operators is the exporter's work, and only a form that is never touched is
 * surely right. Only what is too old to run batched, or to be pooled here, is refused.
 */
import { ServingError } from '../../../src/errors.ts';
import * as attribute from '../../onnx/attributes.ts';
import type { ModelProto } from '../../onnx/gen/onnx_pb.ts';
import type { GraphBuilder } from '../../onnx/graph-builder.ts';
import { int64Tensor } from '../../onnx/tensors.ts';

export const OLDEST_OPSET = 11;
/** Since this version of the file format an initializer need not be an input of the graph as well. */
const OLDEST_IR = 4n;
const STANDARD = ['', 'ai.onnx'];

/** The first opset in which the axes of an operator are an input and no longer an attribute. */
const AXES_ARE_INPUT_SINCE = { ReduceSum: 13, Unsqueeze: 13, ReduceL2: 18 } as const;

/** Throws ENGINE_MODEL_INVALID for an opset that is too old. */
export function opsetOf(model: ModelProto, name: string): number {
  const version = Number(model.opsetImport.find(({ domain }) => STANDARD.includes(domain))?.version ?? 0n);
  if (version >= OLDEST_OPSET) return version;
  throw new ServingError(
    'ENGINE_MODEL_INVALID',
    `${name} uses ONNX opset ${version}; ${OLDEST_OPSET} is the oldest that is taken: export the model anew with --opset 17`,
  );
}

/** Lifts an old file format: its initializers were inputs too, and a server would ask the client for the weights. */
export function liftIrVersion(model: ModelProto): void {
  const graph = model.graph!;
  const constants = new Set(graph.initializer.map(({ name }) => name));
  graph.input = graph.input.filter(({ name }) => !constants.has(name));
  if (model.irVersion < OLDEST_IR) model.irVersion = OLDEST_IR;
}

export type AxesNode = {
  readonly input: string;
  readonly output: string;
  readonly axis: number;
  readonly keepdims?: boolean;
};

export function addAxesNode(
  builder: GraphBuilder,
  opset: number,
  opType: keyof typeof AXES_ARE_INPUT_SINCE,
  { input, output, axis, keepdims }: AxesNode,
): string {
  const kept = keepdims === undefined ? {} : { keepdims: attribute.int(keepdims ? 1 : 0) };
  if (opset < AXES_ARE_INPUT_SINCE[opType]) {
    return builder.node(opType, [input], [output], { attributes: { axes: attribute.ints([axis]), ...kept } });
  }
  const axes = builder.constant(int64Tensor(`${output}/axes`, [axis], [1]));
  return builder.node(opType, [input, axes], [output], { attributes: kept });
}
