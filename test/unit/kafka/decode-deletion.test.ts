import { describe, expect, it } from 'vitest';
import { type DecodeOptions, decodeMessage } from '../../../src/kafka/decode.ts';
import { type RawParts, raw } from './messages.ts';

const options: DecodeOptions = { maxTextBytes: 64, oversizedText: 'cut', keepUnknownFields: false };
const SECRET = 'zq-sentinel-zq';

const decode = (parts: RawParts) => decodeMessage(raw(parts), options, () => {});
function rejectOf(parts: RawParts) {
  const [record, ...more] = decode(parts);
  if (record?.kind !== 'reject' || more.length > 0) throw new Error(`expected a reject, got ${record?.kind}`);
  return record.error;
}

describe('a tombstone (K17)', () => {
  const scope = (value: string) => [['rag-scope', Buffer.from(value)]] as const;

  it('deletes the chunk that its key names, or the document by header', () => {
    const source = { topic: 't', partition: 2, offset: 40n };
    expect(decode({ key: 'doc-1', value: null })).toMatchObject([
      { kind: 'deletion', deletion: { scope: 'chunk', id: 'doc-1', source } },
    ]);
    expect(decode({ key: 'doc-1', value: null, headers: scope('document') })).toMatchObject([
      { deletion: { scope: 'document' } },
    ]);
  });

  it('deletes the chunk that a header names, so that its key can be that of the document', () => {
    const headers = [['rag-chunk-id', Buffer.from('doc-1#3 ü')]] as const;
    expect(decode({ key: 'doc-1', value: null, headers })).toMatchObject([
      { kind: 'deletion', deletion: { scope: 'chunk', id: 'doc-1#3 ü' } },
    ]);
  });

  it('is rejected with a chunk id that is none, or beside the scope of a document', () => {
    const named = (id: string) => [['rag-chunk-id', Buffer.from(id)]] as const;
    expect(rejectOf({ key: 'd', value: null, headers: named('') }).message).toBe(
      'header rag-chunk-id: expected 1 to 512 bytes, got 0',
    );
    expect(rejectOf({ key: 'd', value: null, headers: named('x'.repeat(513)) }).message).toBe(
      'header rag-chunk-id: expected 1 to 512 bytes, got 513',
    );
    expect(rejectOf({ key: 'd', value: null, headers: [...named('c'), ...scope('document')] }).message).toBe(
      'header rag-chunk-id: has no place in a deletion of a document',
    );
  });

  it('is rejected with a scope that is neither', () => {
    expect(rejectOf({ value: null, headers: scope(SECRET) }).message).toBe(
      'header rag-scope: expected chunk or document, got 14 other characters',
    );
  });
});
