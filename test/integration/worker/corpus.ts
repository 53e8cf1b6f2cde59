/**
 * Chunks of mixed lengths and scripts from a seed, the same at every run, and what the store must hold of each.
 * The cut at the byte limit is computed here on the bytes, not by the product's own code.
 */
import { createHash } from 'node:crypto';
import type { OutgoingMessage } from '../../../src/kafka/producer.ts';
import { chunkMessage, type TestChunk } from './harness.ts';

/** Uniform in [0, 1); mulberry32. */
export function seededRandom(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

const WORDS =
  'the offset of a record is kept until each of its chunks has been stored, then committed; 42 "quoted" <b>'.split(' ');
const EMOJI = ['🙂', '🚀', '🏳️‍🌈', '👩🏽‍💻', '🇨🇭', '❤️', '🧮', '👨‍👩‍👧‍👦'];
const LETTERS = [
  'Übergröße',
  'наблюдение',
  'العربية',
  'ελληνικά',
  'é',
  'ไทย',
  '한국어',
  'naïve\u200bword',
  '\u0000',
  '\t',
];

type Random = () => number;
const pick = <T>(from: readonly T[], random: Random): T => from[Math.floor(random() * from.length)]!;

/** One piece of text a call, by script. */
const SCRIPTS: readonly ((random: Random) => string)[] = [
  (random) => `${pick(WORDS, random)} `,
  (random) => String.fromCodePoint(0x4e00 + Math.floor(random() * 0x51a5)),
  (random) => pick(EMOJI, random),
  (random) => `${pick(LETTERS, random)} `,
  (random) => pick(SCRIPTS.slice(0, 4), random)(random),
];

/** Text of exactly `bytes` bytes of UTF-8, never blank. */
export function textOf(bytes: number, script: number, random: Random): string {
  // A short stretch over and over: what matters of a long text is its length and where its code points end.
  let stretch = '';
  while (Buffer.byteLength(stretch) < Math.min(bytes, 2_048)) stretch += SCRIPTS[script % SCRIPTS.length]!(random);
  const cut = cutUtf8(stretch.repeat(Math.ceil(bytes / Buffer.byteLength(stretch))), bytes - 1);
  return `${cut}${'x'.repeat(bytes - Buffer.byteLength(cut))}`;
}

/** The longest beginning of at most `maxBytes` bytes that ends between two code points. */
export function cutUtf8(text: string, maxBytes: number): string {
  const bytes = Buffer.from(text, 'utf8');
  if (bytes.length <= maxBytes) return text;
  let end = maxBytes;
  while ((bytes[end]! & 0xc0) === 0x80) end--;
  return bytes.toString('utf8', 0, end);
}

export type CorpusOptions = {
  readonly count: number;
  readonly seed: number;
  /** Median of the log-normal lengths, in bytes of UTF-8. */
  readonly medianBytes: number;
  /** Lengths are within 1 and this, and the corpus holds texts just below, at and beyond it. */
  readonly maxBytes: number;
};

const SPREAD = 1.3;
const CHUNKS_A_DOCUMENT = 10;
const COPIES_OF_LIMITS = 3;

export function corpus({ count, seed, medianBytes, maxBytes }: CorpusOptions): TestChunk[] {
  const random = seededRandom(seed);
  const limits = [1, 2, 3, 4, maxBytes - 3, maxBytes - 1, maxBytes, maxBytes + 1, maxBytes + 2, 2 * maxBytes];
  const atLimits = limits.flatMap((bytes) => Array<number>(COPIES_OF_LIMITS).fill(bytes));
  const lengths = Array.from({ length: count }, (_, i) => {
    // Spread over the corpus, so that they share batches with ordinary texts.
    const limit = i % Math.floor(count / atLimits.length) === 7 ? atLimits.pop() : undefined;
    if (limit !== undefined) return limit;
    const normal = Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random());
    return Math.max(1, Math.min(maxBytes, Math.round(medianBytes * Math.exp(SPREAD * normal))));
  });
  return lengths.map((bytes, i) => {
    const documentId = `doc-${Math.floor(i / CHUNKS_A_DOCUMENT)}`;
    return { chunkId: `${documentId}#${i}`, documentId, text: textOf(bytes, i, random) };
  });
}

const MESSAGES_A_SEND = 1_000;
/** Below the broker's limit for a record batch, which one partition's share of a send may become. */
const BYTES_A_SEND = 400_000;

/** In parts that a broker takes in one request. One document in five comes as one message of all its chunks. */
export function* messagesOf(chunks: readonly TestChunk[]): Generator<OutgoingMessage[]> {
  let part: OutgoingMessage[] = [];
  let bytes = 0;
  for (const message of oneByOne(chunks)) {
    const size = Buffer.byteLength(message.value as string);
    if (part.length > 0 && (part.length === MESSAGES_A_SEND || bytes + size > BYTES_A_SEND)) {
      yield part;
      part = [];
      bytes = 0;
    }
    part.push(message);
    bytes += size;
  }
  if (part.length > 0) yield part;
}

function* oneByOne(chunks: readonly TestChunk[]): Generator<OutgoingMessage> {
  for (let from = 0; from < chunks.length; from += CHUNKS_A_DOCUMENT) {
    const document = chunks.slice(from, from + CHUNKS_A_DOCUMENT);
    if ((from / CHUNKS_A_DOCUMENT) % 5 !== 0) {
      for (const chunk of document) yield chunkMessage(chunk);
      continue;
    }
    const { documentId } = document[0]!;
    const parts = document.map(({ chunkId, text }) => ({ chunk_id: chunkId, text }));
    yield { key: documentId, value: JSON.stringify({ document_id: documentId, chunks: parts }) };
  }
}

export function sha256Hex(text: string): string {
  return createHash('sha256').update(text, 'utf8').digest('hex');
}
