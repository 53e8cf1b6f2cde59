import { describe, expect, it } from 'vitest';
import { writeCalls } from '../../../../src/sinks/redis/write-script.ts';
import type { SinkRow } from '../../../../src/sinks/sink.ts';

const target = {
  prefix: 'p:',
  metaKey: 'p:meta',
  contract: { modelName: 'm', fingerprint: 'fp', dims: 2, dtype: 'FP16', maxBatch: 256 },
  storedDtype: 'FP16',
} as const;

function row(chunkId: string, text: string | undefined): SinkRow {
  return {
    ...{ chunkId, documentId: 'd', tenantId: undefined, vector: Uint8Array.of(1, 2, 3, 4), textSha256: '', text },
    ...{ truncated: false, metadata: undefined, source: { topic: 't', partition: 0, offset: 1n } },
    ...{ version: undefined, embeddedAtMs: 0 },
  };
}

describe('writeCalls', () => {
  const sizes = (rows: readonly SinkRow[]) => writeCalls(rows, target).map((call) => call.rows);

  it('makes few calls of many rows, and none of no rows', () => {
    expect(sizes([])).toEqual([]);
    expect(sizes(Array.from({ length: 150 }, (_, n) => row(`c${n}`, 'text')))).toEqual([64, 64, 22]);
  });

  it('bounds the bytes of a call, for a full Redis takes the whole of one that has begun', () => {
    const big = 'é'.repeat(50_000);
    expect(sizes(Array.from({ length: 5 }, (_, n) => row(`c${n}`, big)))).toEqual([2, 2, 1]);
    expect(sizes([row('a', 'x'), row('b', big.repeat(10)), row('c', 'x')])).toEqual([1, 1, 1]);
  });

  it('gives the script what it needs to take the texts apart: bytes, not characters; null for no text', () => {
    const [call] = writeCalls([row('a', 'é🎉'), row('b', undefined), row('c', '')], target);
    const [prefix, header, vectors, texts] = call!.args;
    expect([prefix, vectors, texts]).toEqual(['p:', Buffer.of(1, 2, 3, 4, 1, 2, 3, 4, 1, 2, 3, 4), 'é🎉']);
    expect((JSON.parse(String(header)) as unknown[][]).map((fields) => fields.at(-1))).toEqual([6, null, 0]);
  });
});
