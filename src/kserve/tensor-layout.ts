/**
 * How a tensor lies in memory: how many elements and bytes its shape means, and the parameters that put it into a
 * region of system shared memory instead of the message.
 */
import { create } from '@bufbuild/protobuf';
import { ServingError } from '../errors.ts';
import type { TensorFault } from './bytes.ts';
import { checkElements } from './bytes.ts';
import { type Datatype, elementBytes } from './datatype.ts';
import { type InferParameter, InferParameterSchema } from './gen/grpc_service_pb.ts';
import type { RegionRange } from './tensor.ts';

/** Names of the parameters that put a tensor into shared memory. */
export const REGION_PARAMETERS = {
  name: 'shared_memory_region',
  size: 'shared_memory_byte_size',
  start: 'shared_memory_offset',
} as const;
const { name: REGION, size: BYTE_SIZE, start: OFFSET } = REGION_PARAMETERS;

/** Product of the dimensions; every one must be a whole number ≥ 0. */
export function elementCount(name: string, shape: readonly number[], fault: TensorFault): number {
  let count = 1;
  for (const dimension of shape) {
    if (!Number.isSafeInteger(dimension) || dimension < 0) {
      throw new ServingError(fault, `tensor ${name} has dimension ${dimension} in its shape [${shape}]`);
    }
    count *= dimension;
  }
  if (!Number.isSafeInteger(count)) {
    throw new ServingError(fault, `tensor ${name} has a shape [${shape}] too large to count`);
  }
  return count;
}

/** Checks raw bytes against datatype and shape; BYTES elements are counted one by one. */
export function checkRawSize(
  name: string,
  datatype: Datatype,
  shape: readonly number[],
  bytes: Uint8Array,
  fault: TensorFault,
): void {
  if (datatype === 'BYTES') checkElements(bytes, fault, elementCount(name, shape, fault));
  else checkByteSize(name, datatype, shape, bytes.length, fault);
}

/** Checks a size alone, for tensors whose bytes are elsewhere. A BYTES tensor has at least its length prefixes. */
export function checkByteSize(
  name: string,
  datatype: Datatype,
  shape: readonly number[],
  byteSize: number,
  fault: TensorFault,
): void {
  const count = elementCount(name, shape, fault);
  const width = elementBytes(datatype);
  const expected = count * (width ?? 4);
  if (width === undefined ? byteSize >= expected : byteSize === expected) return;
  const atLeast = width === undefined ? 'at least ' : '';
  throw new ServingError(
    fault,
    `tensor ${name} has ${byteSize} bytes where ${datatype} [${shape}] needs ${atLeast}${expected}`,
    { details: { tensor: name, datatype, shape: [...shape], byteSize, expected } },
  );
}

/** Bytes of a tensor by its datatype and shape alone, or undefined for BYTES. */
export function fixedByteSize(
  name: string,
  datatype: Datatype,
  shape: readonly number[],
  fault: TensorFault,
): number | undefined {
  const width = elementBytes(datatype);
  return width === undefined ? undefined : elementCount(name, shape, fault) * width;
}

export function toInt64Shape(shape: readonly number[]): bigint[] {
  return shape.map(BigInt);
}

/** Dimensions as numbers; -1 (of any size) stays. */
export function fromInt64Shape(shape: readonly bigint[]): number[] {
  return shape.map(Number);
}

export function regionParameters(range: RegionRange): { [name: string]: InferParameter } {
  const parameters = {
    [REGION]: create(InferParameterSchema, { parameterChoice: { case: 'stringParam', value: range.region } }),
    [BYTE_SIZE]: int64(range.byteSize),
  };
  return range.offset === 0 ? parameters : { ...parameters, [OFFSET]: int64(range.offset) };
}

export function hasRegion(parameters: Readonly<Record<string, InferParameter>>): boolean {
  return parameters[REGION] !== undefined;
}

/** The range that the parameters name, or undefined for a tensor inside the message. */
export function readRegion(
  name: string,
  parameters: Readonly<Record<string, InferParameter>>,
  fault: TensorFault,
): RegionRange | undefined {
  const region = parameters[REGION]?.parameterChoice;
  if (region === undefined) return undefined;
  if (region.case !== 'stringParam' || region.value === '') {
    throw new ServingError(fault, `tensor ${name}: parameter ${REGION} must be a string that is not empty`);
  }
  const byteSize = readSize(name, BYTE_SIZE, parameters, fault);
  if (byteSize === undefined) throw new ServingError(fault, `tensor ${name}: parameter ${BYTE_SIZE} is missing`);
  return { region: region.value, byteSize, offset: readSize(name, OFFSET, parameters, fault) ?? 0 };
}

function readSize(
  name: string,
  key: string,
  parameters: Readonly<Record<string, InferParameter>>,
  fault: TensorFault,
): number | undefined {
  const choice = parameters[key]?.parameterChoice;
  if (choice === undefined) return undefined;
  const value = choice.case === 'int64Param' || choice.case === 'uint64Param' ? Number(choice.value) : Number.NaN;
  if (!Number.isSafeInteger(value) || value < 0) {
    throw new ServingError(fault, `tensor ${name}: parameter ${key} must be a whole number ≥ 0`);
  }
  return value;
}

function int64(value: number): InferParameter {
  return create(InferParameterSchema, { parameterChoice: { case: 'int64Param', value: BigInt(value) } });
}
