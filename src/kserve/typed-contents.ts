/**
 * Typed tensor contents (`contents`, one protobuf list a datatype) as raw little-endian bytes.
 *
 * Triton always answers raw; other KServe v2 servers may answer typed. There is no list for FP16 and BF16, so a typed
 * FP16 tensor is refused: whatever list it came in, its meaning is a guess.
 */
import { ServingError } from '../errors.ts';
import type { TensorFault } from './bytes.ts';
import type { Datatype } from './datatype.ts';
import type { InferTensorContents } from './gen/grpc_service_pb.ts';
import { elementCount } from './tensor-layout.ts';

type Encode = (contents: InferTensorContents) => { readonly count: number; readonly bytes: Uint8Array };

const ENCODERS: Readonly<Partial<Record<Datatype, Encode>>> = {
  BOOL: (c) => fixed(c.boolContents, 1, (view, at, value) => view.setUint8(at, value ? 1 : 0)),
  INT8: (c) => fixed(c.intContents, 1, (view, at, value) => view.setInt8(at, value)),
  INT16: (c) => fixed(c.intContents, 2, (view, at, value) => view.setInt16(at, value, true)),
  INT32: (c) => fixed(c.intContents, 4, (view, at, value) => view.setInt32(at, value, true)),
  INT64: (c) => fixed(c.int64Contents, 8, (view, at, value) => view.setBigInt64(at, value, true)),
  UINT8: (c) => fixed(c.uintContents, 1, (view, at, value) => view.setUint8(at, value)),
  UINT16: (c) => fixed(c.uintContents, 2, (view, at, value) => view.setUint16(at, value, true)),
  UINT32: (c) => fixed(c.uintContents, 4, (view, at, value) => view.setUint32(at, value, true)),
  UINT64: (c) => fixed(c.uint64Contents, 8, (view, at, value) => view.setBigUint64(at, value, true)),
  FP32: (c) => fixed(c.fp32Contents, 4, (view, at, value) => view.setFloat32(at, value, true)),
  FP64: (c) => fixed(c.fp64Contents, 8, (view, at, value) => view.setFloat64(at, value, true)),
  BYTES: (c) => prefixed(c.bytesContents),
};

export function typedToRaw(
  name: string,
  datatype: Datatype,
  shape: readonly number[],
  contents: InferTensorContents,
  fault: TensorFault,
): Uint8Array {
  const encode = ENCODERS[datatype];
  if (encode === undefined) {
    throw new ServingError(fault, `tensor ${name}: ${datatype} has no typed contents, it must come as raw contents`);
  }
  const { count, bytes } = encode(contents);
  const expected = elementCount(name, shape, fault);
  if (count !== expected) {
    throw new ServingError(
      fault,
      `tensor ${name} has ${count} typed elements where ${datatype} [${shape}] needs ${expected}`,
      { details: { tensor: name, datatype, shape: [...shape], elements: count, expected } },
    );
  }
  return bytes;
}

function fixed<T>(
  elements: readonly T[],
  width: number,
  set: (view: DataView, at: number, value: T) => void,
): { count: number; bytes: Uint8Array } {
  const bytes = new Uint8Array(elements.length * width);
  const view = new DataView(bytes.buffer);
  elements.forEach((value, index) => {
    set(view, index * width, value);
  });
  return { count: elements.length, bytes };
}

function prefixed(elements: readonly Uint8Array[]): { count: number; bytes: Uint8Array } {
  const size = elements.reduce((total, element) => total + 4 + element.length, 0);
  const bytes = new Uint8Array(size);
  const view = new DataView(bytes.buffer);
  let at = 0;
  for (const element of elements) {
    view.setUint32(at, element.length, true);
    bytes.set(element, at + 4);
    at += 4 + element.length;
  }
  return { count: elements.length, bytes };
}
