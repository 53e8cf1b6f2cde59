/**
 * Whether a graph computes in the precision that is asked for, and FP32 where FP16 drifts or overflows. Pure.
 *
 * A strongly typed engine computes what the graph says, so this is the place where "softmax, LayerNorm and pooling in FP32" is
 * checked and not hoped for.
 */

import type { ValueType } from '../export-onnx/graph/value-types.ts';
import type { GraphProto } from '../onnx/gen/onnx_pb.ts';
import type { Precision } from './trtexec-command.ts';

const PRODUCTS = new Set(['MatMul', 'Gemm', 'Einsum']);
/** Softmax, the norms whole and in pieces, and the sums of pooling. */
const FLOAT32_ONLY = new Set([
  ...['Softmax', 'LogSoftmax', 'Exp', 'LayerNormalization', 'RMSNormalization', 'InstanceNormalization'],
  ...['GroupNormalization', 'MeanVarianceNormalization', 'LpNormalization', 'BatchNormalization'],
  ...['ReduceMean', 'ReduceSum', 'ReduceL1', 'ReduceL2', 'ReduceSumSquare', 'ReduceLogSumExp', 'CumSum'],
  ...['GlobalAveragePool', 'Pow', 'Sqrt', 'Reciprocal'],
]);
const NAMED = 3;

export function precisionFaults(
  graph: GraphProto,
  types: ReadonlyMap<string, ValueType>,
  precision: Precision,
): string[] {
  const typeOf = (name: string | undefined) => (name === undefined ? undefined : types.get(name)?.type);
  const half = graph.node.filter(({ output }) => output.some((name) => typeOf(name) === 'float16'));
  const halfProducts = half.filter(({ opType }) => PRODUCTS.has(opType));
  if (precision === 'fp32') {
    if (halfProducts.length === 0) return [];
    return [
      `${halfProducts.length} of its products compute in FP16: --precision fp32 takes a graph that is FP32 throughout`,
    ];
  }
  if (halfProducts.length === 0) {
    return [
      'none of its products computes in FP16: export it with export-onnx --fp16, or build it as it is with --precision fp32',
    ];
  }
  const drifting = half.filter(({ opType }) => FLOAT32_ONLY.has(opType));
  if (drifting.length === 0) return [];
  const names = drifting.slice(0, NAMED).map(({ opType, name, output }) => `${opType} ${name || output[0]}`);
  const more = drifting.length > NAMED ? ` and ${drifting.length - NAMED} more` : '';
  return [
    `${names.join(', ')}${more} would compute in FP16, where sums overflow and drift: export it anew with export-onnx --fp16`,
  ];
}
