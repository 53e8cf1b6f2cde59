/**
 * How large the values become that the exported model holds in FP16, told by the unmodified model in FP32.
 *
 * Needed beside the comparison: onnxruntime has no FP16 arithmetic for most operators on a CPU and computes them in FP32,
 * so an overflow that turns every row into NaN on a GPU can pass unseen here.
 */
import * as attribute from '../../onnx/attributes.ts';
import { TensorProto_DataType as DataType, type ModelProto } from '../../onnx/gen/onnx_pb.ts';
import { GraphBuilder } from '../../onnx/graph-builder.ts';
import { int64Tensor } from '../../onnx/tensors.ts';
import { prune } from '../graph/prune.ts';
import { HALF_MAX } from '../half/floats.ts';
import { replaceMasks } from '../half/masks.ts';

export const RANGE_OUTPUT = 'range';

/** Changes `model` so that its only output is the largest magnitude of each of these values, in their order. */
export function makeRangeProbe(model: ModelProto, values: readonly string[]): void {
  const graph = model.graph!;
  replaceMasks(graph);
  const builder = new GraphBuilder(graph);
  const single = builder.constant(int64Tensor('range/single', [1], [1]));
  const peaks = values.map((value, index) => {
    const magnitude = builder.node('Abs', [value], [`range/abs/${index}`]);
    const options = { attributes: { keepdims: attribute.int(0) } };
    const peak = builder.node('ReduceMax', [magnitude], [`range/max/${index}`], options);
    return builder.node('Reshape', [peak, single], [`range/peak/${index}`]);
  });
  builder.node('Concat', peaks, [RANGE_OUTPUT], { attributes: { axis: attribute.int(0) } });
  graph.output = [];
  builder.output(RANGE_OUTPUT, DataType.FLOAT, [values.length]);
  prune(graph);
}

export type Peak = { readonly value: string; readonly magnitude: number };

/** The largest of several runs, one for each value. */
export function peaksOf(values: readonly string[], runs: readonly Float32Array[]): Peak[] {
  return values.map((value, index) => ({ value, magnitude: Math.max(...runs.map((run) => run[index]!)) }));
}

/** Values that FP16 cannot hold; `NaN` counts as one. */
export function overflows(peaks: readonly Peak[]): Peak[] {
  return peaks.filter(({ magnitude }) => !(magnitude <= HALF_MAX));
}
