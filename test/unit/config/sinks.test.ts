import { describe, expect, it } from 'vitest';
import { EnvReader } from '../../../src/config/env-reader.ts';
import { readSink } from '../../../src/config/sections/sink.ts';

function sinkOf(env: Readonly<Record<string, string>>) {
  const read = new EnvReader(env, { pool: 'batch_ingestion' });
  const sink = readSink(read);
  read.finish();
  return sink;
}

describe('RAG_SERVING_SINK', () => {
  it('names one store, or several that all get every row', () => {
    expect(sinkOf({ RAG_SERVING_SINK: 'PGVECTOR' })).toMatchObject({
      ...{ kind: 'pgvector', table: 'rag_chunks', element: undefined, poolSize: 4, statementTimeoutMs: 30_000 },
      ...{ storeText: true, allowMixedFingerprints: false },
    });
    expect(sinkOf({ RAG_SERVING_SINK: ' redis, pgvector ', RAG_SERVING_STORE_TEXT: 'no' })).toMatchObject({
      ...{ kind: 'fan-out', storeText: false },
      members: [
        { kind: 'redis', keyPrefix: 'rag:' },
        { kind: 'pgvector', table: 'rag_chunks' },
      ],
    });
  });

  it('refuses what is no store, and one store twice', () => {
    expect(() => sinkOf({ RAG_SERVING_SINK: 'redis,postgres' })).toThrow(/entry 2 .* one or more of lancedb, redis/);
    expect(() => sinkOf({ RAG_SERVING_SINK: 'redis,' })).toThrow(/entry 2/);
    expect(() => sinkOf({ RAG_SERVING_SINK: 'redis,redis' })).toThrow(/names redis twice/);
  });
});

describe('settings of pgvector', () => {
  it('shows its password nowhere, and takes it percent-encoded (F03)', () => {
    const url = 'postgres://rag:p%40ss-SENTINEL@db/chunks';
    const sink = sinkOf({ RAG_SERVING_SINK: 'pgvector', RAG_SERVING_PGVECTOR_URL: `${url}\n` });
    expect(JSON.stringify(sink)).not.toContain('SENTINEL');
    expect(sink.kind === 'pgvector' && sink.url.reveal()).toBe(url);
    const raw = 'postgres://rag:p@ss/SENTINEL@db/chunks';
    expect(() => sinkOf({ RAG_SERVING_PGVECTOR_URL: raw })).toThrow(/^(?!.*SENTINEL).*RAG_SERVING_PGVECTOR_URL.*%40/s);
  });

  it('wants an sslmode for certificates, and a certificate with its key', () => {
    const files = { RAG_SERVING_PGVECTOR_CA_CERT_PATH: '/ca.pem', RAG_SERVING_PGVECTOR_CLIENT_CERT_PATH: '/c.pem' };
    expect(() => sinkOf(files)).toThrow(/CA_CERT_PATH is set while .* no sslmode.*CLIENT_KEY_PATH is unset while/s);
  });

  it('takes a table with its schema and nothing that would have to be quoted in SQL', () => {
    expect(sinkOf({ RAG_SERVING_SINK: 'pgvector', RAG_SERVING_PGVECTOR_TABLE: 'rag.chunks' })).toMatchObject({
      table: 'rag.chunks',
    });
    for (const table of ['a"b', 'a.b.c', '1a', 'a b', 'x'.repeat(51)])
      expect(() => sinkOf({ RAG_SERVING_PGVECTOR_TABLE: table })).toThrow(/RAG_SERVING_PGVECTOR_TABLE/);
  });
});
