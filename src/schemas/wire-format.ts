/** The frame around a value: a zero byte, the schema id in four bytes, then the body. Pure. */
const MAGIC = 0;
const HEADER_BYTES = 5;

/** Undefined for what has no frame. JSON never begins with a zero byte. */
export function schemaIdOf(value: Uint8Array): number | undefined {
  if (value.byteLength < HEADER_BYTES || value[0] !== MAGIC) return undefined;
  return new DataView(value.buffer, value.byteOffset, value.byteLength).getUint32(1);
}

export function bodyOf(value: Uint8Array): Uint8Array {
  return value.subarray(HEADER_BYTES);
}

export function framed(schemaId: number, body: Uint8Array): Uint8Array {
  const value = Buffer.allocUnsafe(HEADER_BYTES + body.byteLength);
  value[0] = MAGIC;
  value.writeUInt32BE(schemaId, 1);
  value.set(body, HEADER_BYTES);
  return value;
}
