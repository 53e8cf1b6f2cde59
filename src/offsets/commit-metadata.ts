/**
 * What is done beyond a commit point, as the text that Kafka stores beside the offset; a successor reads it back and does
 * not do that work again. See docs/decisions/commit-metadata.md.
 *
 * `rag1` + `b` (bitset) or `r` (runs) + `.` + base64url + `.` + checksum. Offsets count from the one behind the commit
 * point, and the checksum covers the commit point too, although it is not in the text: metadata that ended up beside
 * another offset is refused. What does not fit is cut at the end, which costs repeats and loses nothing.
 */
import { hash } from 'node:crypto';
import { countOffsets, type OffsetRange, rangesFrom } from './offset-range.ts';
import {
  bitsetBytes,
  fitBitset,
  fitRuns,
  readBitset,
  readRuns,
  runsBytes,
  writeBitset,
  writeRuns,
} from './range-codec.ts';

/** `offset.metadata.max.bytes` of a broker, unless it is told otherwise. */
export const MAX_METADATA_BYTES = 4_096;

export type DecodedTail =
  | { readonly kind: 'nothing' }
  | { readonly kind: 'tail'; readonly done: readonly OffsetRange[] }
  | { readonly kind: 'ignored'; readonly why: string };

type Way = 'b' | 'r';

const PREFIX = 'rag1';
const CHECKSUM_CHARS = 12;
const OVERHEAD_BYTES = PREFIX.length + 1 + 1 + 1 + CHECKSUM_CHARS;
const SHAPE = /^rag1([br])\.([A-Za-z0-9_-]+)\.([0-9a-f]{12})$/;

/** Bytes that the whole tail takes; 0 when there is none. */
export function tailBytes(commitPoint: bigint, done: readonly OffsetRange[]): number {
  const base = commitPoint + 1n;
  const ranges = rangesFrom(base, done);
  if (ranges.length === 0) return 0;
  return textBytes(Math.min(bitsetBytes(base, ranges), runsBytes(base, ranges)));
}

/** At most `maxBytes` of printable ASCII; empty for no tail, or when not even its beginning fits. */
export function encodeTail(commitPoint: bigint, done: readonly OffsetRange[], maxBytes = MAX_METADATA_BYTES): string {
  const base = commitPoint + 1n;
  const ranges = rangesFrom(base, done);
  const room = Math.floor(((maxBytes - OVERHEAD_BYTES) * 3) / 4);
  if (ranges.length === 0 || room <= 0) return '';
  const bitset = fitBitset(base, ranges, room);
  const runs = fitRuns(base, ranges, room);
  const [held, heldByRuns] = [countOffsets(bitset), countOffsets(runs)];
  const bitsetIsBetter = held === heldByRuns ? bitsetBytes(base, bitset) < runsBytes(base, runs) : held > heldByRuns;
  const [way, bytes]: [Way, Uint8Array] = bitsetIsBetter
    ? ['b', writeBitset(base, bitset)]
    : ['r', writeRuns(base, runs)];
  if (bytes.length === 0) return '';
  const text = `${PREFIX}${way}.${Buffer.from(bytes).toString('base64url')}`;
  return `${text}.${checksum(commitPoint, text)}`;
}

/** Takes only what `encodeTail` has written for this very commit point; `why` never quotes the text. */
export function decodeTail(commitPoint: bigint, text: string | null): DecodedTail {
  if (text === null || text === '') return { kind: 'nothing' };
  const [, way, payload, sum] = SHAPE.exec(text) ?? [];
  if (way === undefined || payload === undefined) {
    const ours = text.startsWith('rag');
    return { kind: 'ignored', why: ours ? 'damaged, or of another version' : 'written by another program' };
  }
  if (sum !== checksum(commitPoint, `${PREFIX}${way}.${payload}`)) {
    return { kind: 'ignored', why: 'damaged, or written for another offset' };
  }
  const bytes = Buffer.from(payload, 'base64url');
  const base = commitPoint + 1n;
  const done = way === 'b' ? readBitset(base, bytes) : readRuns(base, bytes);
  return done === undefined ? { kind: 'ignored', why: 'damaged' } : { kind: 'tail', done };
}

function textBytes(bytes: number): number {
  return OVERHEAD_BYTES + Math.ceil((bytes * 4) / 3);
}

function checksum(commitPoint: bigint, text: string): string {
  return hash('sha256', `${commitPoint}:${text}`, 'hex').slice(0, CHECKSUM_CHARS);
}
