import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type DecodeOptions, decodeMessage } from '../../../src/kafka/decode.ts';
import type { RecordInFlight } from '../../../src/records/travel.ts';
import { type RawParts, raw, settleLog } from './messages.ts';

const options: DecodeOptions = { maxTextBytes: 64, oversizedText: 'cut', keepUnknownFields: false };
const SECRET = 'zq-sentinel-zq';

function decode(parts: RawParts, overrides: Partial<DecodeOptions> = {}): RecordInFlight[] {
  return decodeMessage(raw(parts), { ...options, ...overrides }, () => {});
}
function chunkOf(parts: RawParts, overrides: Partial<DecodeOptions> = {}) {
  const [record] = decode(parts, overrides);
  if (record?.kind !== 'chunk') throw new Error(`expected a chunk, got ${record?.kind}`);
  return record.chunk;
}
function rejectOf(parts: RawParts, overrides: Partial<DecodeOptions> = {}) {
  const records = decode(parts, overrides);
  expect(records).toHaveLength(1);
  const [record] = records;
  if (record?.kind !== 'reject') throw new Error(`expected a reject, got ${record?.kind}`);
  return record.error;
}

describe('a single chunk', () => {
  it('carries every field of the contract', () => {
    const value = {
      chunk_id: 'doc-7#3',
      document_id: 'doc-7',
      text: 'hé',
      tenant_id: 'acme',
      version: 12,
      metadata: { lang: 'en' },
    };
    expect(chunkOf({ value })).toEqual({
      chunkId: 'doc-7#3',
      documentId: 'doc-7',
      text: 'hé',
      truncated: false,
      tenantId: 'acme',
      version: 12,
      metadata: { lang: 'en' },
      source: { topic: 't', partition: 2, offset: 40n },
      batchIndex: undefined,
    });
  });

  it('takes its document id from the key, and without a usable key from itself', () => {
    const value = { chunk_id: 'c', text: 'x' };
    expect(chunkOf({ key: 'doc-9', value }).documentId).toBe('doc-9');
    expect(chunkOf({ key: null, value }).documentId).toBe('c');
    expect(chunkOf({ key: Uint8Array.of(0xff, 0xfe), value }).documentId).toBe('c');
  });

  it('counts null in an optional field as absent', () => {
    const chunk = chunkOf({ value: { chunk_id: 'c', text: 'x', tenant_id: null, version: null, metadata: null } });
    expect([chunk.tenantId, chunk.version, chunk.metadata]).toEqual([undefined, undefined, undefined]);
  });

  it('keeps unknown fields only when asked, and never over metadata', () => {
    const value = '{"chunk_id":"c","text":"x","page":3,"__proto__":1,"metadata":{"lang":"en","page":"own"}}';
    expect(chunkOf({ value }).metadata).toEqual({ lang: 'en', page: 'own' });
    const kept = chunkOf({ value }, { keepUnknownFields: true }).metadata;
    expect(Object.entries(kept ?? {}).sort()).toEqual([
      ['__proto__', 1],
      ['lang', 'en'],
      ['page', 'own'],
    ]);
  });

  it('lets the last of two equal JSON keys win (P14)', () => {
    expect(chunkOf({ value: '{"chunk_id":"a","chunk_id":"b","text":"x"}' }).chunkId).toBe('b');
  });

  it('skips a byte order mark', () => {
    expect(chunkOf({ value: '\uFEFF{"chunk_id":"c","text":"x"}' }).chunkId).toBe('c');
  });

  it('a lone surrogate becomes U+FFFD and does not fail the chunk (P01)', () => {
    const { text } = chunkOf({ value: '{"chunk_id":"s1","text":"cost \\ud83d end"}' });
    expect(text).toBe('cost \uFFFD end');
    expect(Buffer.from(text).toString('hex')).toContain('efbfbd');
  });
});

describe('what is rejected, naming the field and never the content', () => {
  const cases: { name: string; value: unknown; says: RegExp; code?: string; key?: string | null }[] = [
    { name: 'an empty object (P14)', value: {}, says: /^chunk_id: expected a string .*got nothing$/ },
    { name: 'no text (P14)', value: { chunk_id: 'x' }, says: /^text: expected a string, got nothing$/ },
    { name: 'no id (P14)', value: { text: SECRET }, says: /^chunk_id:/ },
    { name: 'a null id (P14)', value: { chunk_id: null, text: SECRET }, says: /^chunk_id:.*got null$/ },
    { name: 'an empty id (P14)', value: { chunk_id: '', text: SECRET }, says: /^chunk_id:.*got a string of 0 bytes$/ },
    { name: 'an array (P14)', value: [SECRET], says: /^value: expected a JSON object, got an array of 1$/ },
    { name: 'a string (P14)', value: JSON.stringify(SECRET), says: /^value:.*got a string of 14 bytes$/ },
    { name: 'JSON null (P14)', value: 'null', says: /^value:.*got null$/ },
    { name: 'a number (P14)', value: '42', says: /^value:.*got a number$/ },
    {
      name: 'a number as text (P14)',
      value: { chunk_id: 'x', text: 5 },
      says: /^text: expected a string, got a number$/,
    },
    {
      name: 'an object as id (P14)',
      value: { chunk_id: { a: SECRET }, text: 'x' },
      says: /^chunk_id:.*got an object of 1 fields$/,
    },
    {
      name: 'an integer id above 2^53, not rounded (P07)',
      value: '{"chunk_id":9007199254740993,"text":"x"}',
      says: /^chunk_id:.*got a number$/,
    },
    {
      name: 'an id of 513 bytes',
      value: { chunk_id: `${'é'.repeat(256)}x`, text: 'x' },
      says: /^chunk_id:.*513 bytes$/,
    },
    { name: 'an id with a lone surrogate', value: '{"chunk_id":"a\\ud800","text":"x"}', says: /^chunk_id:/ },
    { name: 'a negative version', value: { chunk_id: 'x', text: 'x', version: -1 }, says: /^version:/ },
    { name: 'a version that is no integer', value: { chunk_id: 'x', text: 'x', version: 1.5 }, says: /^version:/ },
    {
      name: 'a version above 2^53',
      value: '{"chunk_id":"x","text":"x","version":9007199254740993}',
      says: /^version:/,
    },
    {
      name: 'metadata that is an array',
      value: { chunk_id: 'x', text: 'x', metadata: [SECRET] },
      says: /^metadata:.*an array of 1$/,
    },
    {
      name: 'metadata above 16 KiB',
      value: { chunk_id: 'x', text: 'x', metadata: { a: SECRET.repeat(1_200) } },
      says: /^metadata:/,
    },
    { name: 'no JSON', value: `{"text":"${SECRET}`, says: /^value: not JSON \(23 bytes\)$/ },
    { name: 'zero bytes (K17)', value: '', says: /^value: zero bytes/ },
    { name: 'invalid UTF-8', value: Uint8Array.from([0x7b, 0xff, 0x7d]), says: /^value: not valid UTF-8 \(3 bytes\)$/ },
    { name: 'both shapes at once', value: { chunk_id: 'x', text: 'x', chunks: [] }, says: /both chunk_id and chunks/ },
    {
      name: 'a batch without chunks',
      value: { chunks: [] },
      says: /^chunks: expected a non-empty array, got an array of 0$/,
    },
    { name: 'chunks that are no array', value: { chunks: SECRET }, says: /^chunks:/ },
    { name: 'an empty text (P05)', value: { chunk_id: 'x', text: '' }, says: /^text:/, code: 'CHUNK_BLANK' },
    { name: 'a blank text (P05)', value: { chunk_id: 'x', text: ' \n\t\u3000 ' }, says: /^text:/, code: 'CHUNK_BLANK' },
    { name: 'no key and no value (K17)', key: null, value: null, says: /^key:/ },
    { name: 'an empty key without value', key: '', value: null, says: /^key: expected 1 to 512 bytes/ },
  ];
  for (const { name, value, says, code = 'CHUNK_INVALID', key } of cases) {
    it(name, () => {
      const error = rejectOf(key === undefined ? { value } : { key, value });
      expect(error.code).toBe(code);
      expect(error.message).toMatch(says);
      expect(error.cause).toBeUndefined();
      expect(JSON.stringify([error.message, error.details, error.stack])).not.toContain(SECRET);
    });
  }

  for (const [name, value] of [
    ['as the whole value', `${'['.repeat(200_000)}${']'.repeat(200_000)}`],
    ['unclosed', '['.repeat(200_000)],
    ['inside metadata', `{"chunk_id":"x","text":"x","metadata":{"a":${'['.repeat(200_000)}${']'.repeat(200_000)}}}`],
    ['inside an unknown field', `{"chunk_id":"x","text":"x","deep":${'['.repeat(200_000)}${']'.repeat(200_000)}}`],
  ] as const) {
    it(`200,000 nested brackets ${name} are a reject and no crash (P14)`, () => {
      expect(rejectOf({ value }, { keepUnknownFields: true }).code).toBe('CHUNK_INVALID');
    });
  }

  it('never throws, whatever the bytes', () => {
    fc.assert(
      fc.property(
        fc.oneof(
          fc.uint8Array({ maxLength: 60 }),
          fc.json().map((text) => Buffer.from(text)),
        ),
        (value) => {
          for (const record of decode({ value })) expect(['chunk', 'reject', 'deletion']).toContain(record.kind);
        },
      ),
    );
  });
});

describe('text over the limit (P13)', () => {
  it('is cut at a code point and flagged', () => {
    const chunk = chunkOf({ value: { chunk_id: 'c', text: `${'x'.repeat(62)}🚀 and more` } });
    expect(chunk.text).toBe('x'.repeat(62));
    expect(chunk.truncated).toBe(true);
  });

  it('of exactly the limit stays whole', () => {
    const chunk = chunkOf({ value: { chunk_id: 'c', text: `${'x'.repeat(60)}🚀` } });
    expect([Buffer.byteLength(chunk.text), chunk.truncated]).toEqual([64, false]);
  });

  it('is rejected by setting', () => {
    const error = rejectOf({ value: { chunk_id: 'c', text: 'é'.repeat(33) } }, { oversizedText: 'reject' });
    expect([error.code, error.message]).toEqual(['CHUNK_TOO_LARGE', 'text: 66 bytes, more than the 64 allowed']);
  });

  it('is blank when only white space is left of it', () => {
    expect(rejectOf({ value: { chunk_id: 'c', text: `${' '.repeat(70)}x` } }).code).toBe('CHUNK_BLANK');
  });
});

describe('a batch message', () => {
  const value = {
    document_id: 'doc-7',
    tenant_id: 'acme',
    version: 3,
    metadata: { lang: 'en' },
    chunks: [
      { chunk_id: 'a', text: 'one' },
      { chunk_id: 'b', text: 'two', tenant_id: 'other', version: 4, document_id: 'doc-8', metadata: { page: 1 } },
    ],
  };

  it('gives each chunk what they share, unless it says its own', () => {
    const chunks = decode({ value }).map((record) => (record.kind === 'chunk' ? record.chunk : undefined));
    expect(chunks.map((chunk) => chunk?.batchIndex)).toEqual([0, 1]);
    expect(chunks[0]).toMatchObject({
      chunkId: 'a',
      documentId: 'doc-7',
      tenantId: 'acme',
      version: 3,
      metadata: { lang: 'en' },
    });
    expect(chunks[1]).toMatchObject({
      chunkId: 'b',
      documentId: 'doc-8',
      tenantId: 'other',
      version: 4,
      metadata: { page: 1 },
    });
  });

  it('rejects one bad chunk alone, with its index (P14)', () => {
    const records = decode({
      value: {
        chunks: [{ chunk_id: 'a', text: 'one' }, { chunk_id: 'b', text: 5 }, null, { chunk_id: 'd', text: 'four' }],
      },
    });
    expect(records.map((record) => record.kind)).toEqual(['chunk', 'reject', 'reject', 'chunk']);
    expect(records.map((record) => (record.kind === 'reject' ? record.index : undefined))).toEqual([
      undefined,
      1,
      2,
      undefined,
    ]);
  });

  it('settles once, after its last record, with the worst outcome', () => {
    const { outcomes, settle } = settleLog();
    const [first, second] = decodeMessage(raw({ value }), options, settle);
    first!.settle({ kind: 'persisted' });
    first!.settle({ kind: 'persisted' });
    expect(outcomes).toEqual([]);
    second!.settle({ kind: 'abandoned' });
    expect(outcomes).toEqual([{ kind: 'abandoned' }]);
  });
});
