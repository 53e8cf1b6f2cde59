/** KServe v2 datatypes and their element sizes in bytes. BYTES elements vary: 4-byte little-endian length, then the bytes. */
const ELEMENT_BYTES = {
  BOOL: 1,
  UINT8: 1,
  UINT16: 2,
  UINT32: 4,
  UINT64: 8,
  INT8: 1,
  INT16: 2,
  INT32: 4,
  INT64: 8,
  FP16: 2,
  BF16: 2,
  FP32: 4,
  FP64: 8,
  BYTES: undefined,
} as const satisfies Record<string, number | undefined>;

export type Datatype = keyof typeof ELEMENT_BYTES;

export function isDatatype(value: string): value is Datatype {
  return Object.hasOwn(ELEMENT_BYTES, value);
}

/** Bytes of one element, or undefined for BYTES. */
export function elementBytes(datatype: Datatype): number | undefined {
  return ELEMENT_BYTES[datatype];
}
