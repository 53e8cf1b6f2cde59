import { describe, expect, it } from 'vitest';
import type { VectorContract } from '../../../src/kserve/contract.ts';
import { hasLoneSurrogate, rowFault, screenRows } from '../../../src/sinks/row-check.ts';
import type { SinkRow } from '../../../src/sinks/sink.ts';

const contract: VectorContract = { modelName: 'm', fingerprint: 'f', dims: 2, dtype: 'FP16', maxBatch: 8 };
const good: SinkRow = {
  ...{ chunkId: 'a', documentId: 'd', tenantId: undefined, vector: new Uint8Array(4), textSha256: '', text: 'text' },
  ...{ truncated: false, metadata: undefined, version: undefined, embeddedAtMs: 0 },
  source: { topic: 't', partition: 0, offset: 0n },
};

describe('rowFault', () => {
  const bad: { readonly name: string; readonly row: Partial<SinkRow>; readonly says: RegExp }[] = [
    { name: 'too few bytes', row: { vector: new Uint8Array(3) }, says: /vector has 3 bytes; 2 dims of FP16 are 4/ },
    { name: 'too many bytes', row: { vector: new Uint8Array(8) }, says: /8 bytes/ },
    { name: 'half a pair in the id', row: { chunkId: 'a\ud83d' }, says: /chunkId/ },
    { name: 'half a pair in the text (P01)', row: { text: 'cost \ud83d end' }, says: /text/ },
    { name: 'empty id', row: { chunkId: '' }, says: /chunkId is empty/ },
    { name: 'rounded version', row: { version: 2 ** 53 }, says: /version/ },
    { name: 'negative version', row: { version: -1 }, says: /version/ },
    { name: 'negative offset', row: { source: { ...good.source, offset: -1n } }, says: /offset/ },
  ];
  for (const { name, row, says } of bad) {
    it(`refuses ${name}, without quoting the value`, () => {
      const error = rowFault({ ...good, ...row }, contract);
      expect(error).toMatchObject({ code: 'SINK_ROW_REFUSED', message: expect.stringMatching(says) });
      expect(error?.message).not.toContain('cost');
    });
  }

  it('takes NUL, emoji and any pair', () => {
    for (const text of ['', 'a\u0000b', '🎉', '\ud83c\udf89x'])
      expect(rowFault({ ...good, text }, contract)).toBeUndefined();
    expect(hasLoneSurrogate('\udf89\ud83c')).toBe(true);
  });
});

describe('screenRows', () => {
  it('puts the outcomes of accepted rows back into the order of the call', () => {
    const broken = { ...good, chunkId: '' };
    const { accepted, complete } = screenRows([broken, good, broken, { ...good, chunkId: 'b' }], contract);
    expect(accepted.map((row) => row.chunkId)).toEqual(['a', 'b']);
    const outcomes = complete([{ kind: 'stored' }, { kind: 'superseded' }]);
    expect(outcomes.map(({ kind }) => kind)).toEqual(['refused', 'stored', 'refused', 'superseded']);
  });

  it('keeps a copy of the vector', () => {
    const vector = new Uint8Array([1, 2, 3, 4]);
    const { accepted } = screenRows([{ ...good, vector }], contract);
    vector.fill(0);
    expect([...accepted[0]!.vector]).toEqual([1, 2, 3, 4]);
  });
});
