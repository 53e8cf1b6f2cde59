/** The numbers of a FLOAT tensor, whichever of ONNX's two forms they lie in, and the same numbers as FLOAT16. */
import { create } from '@bufbuild/protobuf';
import { encodeFp16 } from '../../../src/kserve/fp16.ts';
import { TensorProto_DataType as DataType, type TensorProto, TensorProtoSchema } from '../../onnx/gen/onnx_pb.ts';

export const HALF_MAX = 65504;
/** Below it FP16 has fewer than its 11 bits, and soon nothing. */
const HALF_SMALLEST_NORMAL = 2 ** -14;

export function floatsOf(tensor: TensorProto): Float32Array {
  if (tensor.rawData.length === 0) return Float32Array.from(tensor.floatData);
  // Copied: raw data may begin at any byte of the file, and a Float32Array may not. (Buffer.slice would not copy.)
  return new Float32Array(Uint8Array.from(tensor.rawData).buffer);
}

export function halfTensor(tensor: TensorProto, name: string): TensorProto {
  const rawData = encodeFp16(floatsOf(tensor)) as Uint8Array<ArrayBuffer>;
  return create(TensorProtoSchema, { name, dims: tensor.dims, dataType: DataType.FLOAT16, rawData });
}

/**
 * Whether FP16 can stand for these numbers. A single number decides over a whole tensor, so it must keep its bits (1e-12
 * against a division by zero does not); among many weights the smallest may vanish.
 */
export function fitsHalf(values: Float32Array): boolean {
  if (values.length === 1) {
    const magnitude = Math.abs(values[0]!);
    return magnitude === 0 || (magnitude >= HALF_SMALLEST_NORMAL && magnitude <= HALF_MAX);
  }
  return values.every((value) => Math.abs(value) <= HALF_MAX);
}

/** The value of a constant of one number, FLOAT or INT64; undefined for anything else. */
export function numberOf(tensor: TensorProto | undefined): number | undefined {
  if (tensor === undefined || tensor.dims.reduce((a, b) => a * b, 1n) !== 1n) return undefined;
  if (tensor.dataType === DataType.FLOAT) return floatsOf(tensor)[0];
  if (tensor.dataType !== DataType.INT64) return undefined;
  const { rawData, int64Data } = tensor;
  const value =
    rawData.length === 0 ? int64Data[0] : new DataView(Uint8Array.from(rawData).buffer).getBigInt64(0, true);
  return value === undefined ? undefined : Number(value);
}
