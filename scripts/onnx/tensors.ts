/** Constants of a graph as ONNX tensors. Numbers lie as little-endian raw bytes, strings one by one: ONNX has no raw form of them. */
import { create } from '@bufbuild/protobuf';
import { ServingError } from '../../src/errors.ts';
import { TensorProto_DataType as DataType, type TensorProto, TensorProtoSchema } from './gen/onnx_pb.ts';

export { TensorProto_DataType as DataType } from './gen/onnx_pb.ts';

/** `dims` is the tensor's shape; empty for a scalar. */
export function int64Tensor(name: string, values: readonly number[], dims: readonly number[]): TensorProto {
  const bytes = new BigInt64Array(values.map((value) => BigInt(value)));
  return raw(name, DataType.INT64, new Uint8Array(bytes.buffer), values.length, dims);
}

export function float32Tensor(name: string, values: readonly number[], dims: readonly number[]): TensorProto {
  return raw(name, DataType.FLOAT, new Uint8Array(new Float32Array(values).buffer), values.length, dims);
}

export function boolTensor(name: string, values: readonly boolean[], dims: readonly number[]): TensorProto {
  return raw(name, DataType.BOOL, Uint8Array.from(values, Number), values.length, dims);
}

export function stringTensor(name: string, values: readonly string[], dims: readonly number[]): TensorProto {
  checkCount(name, values.length, dims);
  const stringData = values.map((value) => new TextEncoder().encode(value));
  return create(TensorProtoSchema, { name, dataType: DataType.STRING, dims: dims.map(BigInt), stringData });
}

function raw(
  name: string,
  dataType: DataType,
  rawData: Uint8Array<ArrayBuffer>,
  count: number,
  dims: readonly number[],
): TensorProto {
  checkCount(name, count, dims);
  return create(TensorProtoSchema, { name, dataType, dims: dims.map(BigInt), rawData });
}

function checkCount(name: string, count: number, dims: readonly number[]): void {
  const wanted = dims.reduce((product, dim) => product * dim, 1);
  if (wanted === count) return;
  throw new ServingError('INTERNAL', `tensor ${name} has ${count} values for a shape of ${wanted}`);
}
