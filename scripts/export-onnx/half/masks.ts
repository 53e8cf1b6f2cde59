/**
 * Attention masks that FP16 can hold. An exporter writes "minus infinity" as −3.4e38, −1e9 or so; as FP16 all of these are
 * −Infinity, and one softmax over a masked row, or 0 × −Infinity, makes every row NaN. −10,000 masks as well: beside
 * it the exponential of any score is zero.
 */
import { TensorProto_DataType as DataType, type GraphProto, type TensorProto } from '../../onnx/gen/onnx_pb.ts';
import { tensorsOf } from '../graph/tensor-walk.ts';
import { floatsOf } from './floats.ts';

export const HALF_MASK = -10_000;
/** A mask at FP16's own minimum would overflow as soon as a score is added to it. */
const MASK_AT_MOST = -30_000;

/** Rewrites mask constants in place and says how many there were. */
export function replaceMasks(graph: GraphProto): number {
  let replaced = 0;
  for (const tensor of tensorsOf(graph)) {
    if (tensor.dataType !== DataType.FLOAT) continue;
    const values = floatsOf(tensor);
    if (!isMask(values)) continue;
    write(
      tensor,
      values.map((value) => (value <= MASK_AT_MOST ? HALF_MASK : value)),
    );
    replaced++;
  }
  return replaced;
}

/** Nothing but zeros and "minus infinity": weights have other numbers too and are left alone. */
export function isMask(values: Float32Array): boolean {
  return values.some((value) => value <= MASK_AT_MOST) && values.every((value) => value === 0 || value <= MASK_AT_MOST);
}

function write(tensor: TensorProto, values: Float32Array): void {
  tensor.floatData = [];
  tensor.rawData = new Uint8Array(values.buffer, values.byteOffset, values.byteLength) as Uint8Array<ArrayBuffer>;
}
