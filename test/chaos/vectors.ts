/** Which vector belongs to a text, computed here: both engines' are a pure function of its bytes. */
import { createHash } from 'node:crypto';
import { syntheticVector } from '../../src/engine/synthetic.ts';
import type { EngineKind } from './settings.ts';

const DIMS = 384;
/** Of an FP16 element near 0.1, and what summing in another order may change. */
const TRITON_TOLERANCE = 2e-4;

export function isVectorOf(engine: EngineKind): (vector: Uint8Array, text: string) => boolean {
  return engine === 'embedded' ? isSynthetic : isTiledHash;
}

function isSynthetic(vector: Uint8Array, text: string): boolean {
  return Buffer.from(syntheticVector(Buffer.from(text), DIMS)).equals(vector);
}

/** The test model of the real Triton: byte i mod 32 of the text's SHA-256, minus 127.5, then L2. */
function isTiledHash(vector: Uint8Array, text: string): boolean {
  if (vector.byteLength !== DIMS * 2) return false;
  const digest = [...createHash('sha256').update(text).digest()].map((byte) => byte - 127.5);
  const norm = Math.sqrt((DIMS / digest.length) * digest.reduce((sum, value) => sum + value * value, 0));
  const bits = new DataView(vector.buffer, vector.byteOffset, vector.byteLength);
  return Array.from({ length: DIMS }, (_, i) => i).every(
    (i) => Math.abs(halfToNumber(bits.getUint16(i * 2, true)) - digest[i % digest.length]! / norm) < TRITON_TOLERANCE,
  );
}

function halfToNumber(bits: number): number {
  const [sign, exponent, fraction] = [bits >> 15 ? -1 : 1, (bits >> 10) & 0x1f, bits & 0x3ff];
  if (exponent === 0) return sign * fraction * 2 ** -24;
  return exponent === 0x1f ? Number.NaN : sign * (1 + fraction / 1024) * 2 ** (exponent - 15);
}
