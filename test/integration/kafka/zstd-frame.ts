/** Bytes as a valid zstd frame of stored blocks (RFC 8878 §3.1.1): no zstd compressor is at hand in Node 20. */
const MAX_BLOCK_BYTES = 131_072;

export function storedZstdFrame(bytes: Uint8Array): Buffer {
  const header = Buffer.alloc(9);
  header.writeUInt32LE(0xfd2fb528, 0);
  // Single segment, no checksum, frame content size in four bytes.
  header.writeUInt8(0b1010_0000, 4);
  header.writeUInt32LE(bytes.byteLength, 5);
  const parts: Uint8Array[] = [header];
  for (let at = 0; at < bytes.byteLength; at += MAX_BLOCK_BYTES) {
    const block = bytes.subarray(at, at + MAX_BLOCK_BYTES);
    const isLast = at + MAX_BLOCK_BYTES >= bytes.byteLength ? 1 : 0;
    const blockHeader = Buffer.alloc(3);
    blockHeader.writeUIntLE((block.byteLength << 3) | isLast, 0, 3);
    parts.push(blockHeader, block);
  }
  return Buffer.concat(parts);
}
