import { describe, expect, it } from 'vitest';
import type { ServingError } from '../../../src/errors.ts';
import { encodeFp16 } from '../../../src/kserve/fp16.ts';
import { EmbedStage } from '../../../src/pipeline/embed-stage.ts';
import {
  contract,
  failed,
  late,
  type RowScript,
  rejected,
  type Script,
  scriptedTransport,
  surroundings,
  travellers,
  unavailable,
  vectorOf,
} from './scripted.ts';

async function embed(texts: readonly string[], script?: Script, rowScript?: RowScript, nowMs = () => 0) {
  const { transport, calls } = scriptedTransport(script, rowScript);
  const holdLog: string[] = [];
  const stage = new EmbedStage({
    transport,
    contract,
    surroundings: { ...surroundings(holdLog), clock: { monotonicMs: nowMs, wallMs: nowMs } },
    timeoutMs: 1_000,
    maxRows: 256,
  });
  const vectors = new Map<string, Uint8Array>();
  const refused: { text: string; code: string; attempts: number }[] = [];
  const results = {
    onEmbedded: (chunks: readonly { traveller: { record: { chunk: { text: string } } }; vector: Uint8Array }[]) => {
      for (const { traveller, vector } of chunks) vectors.set(traveller.record.chunk.text, vector);
    },
    onRefused: ({ record }: { record: { chunk: { text: string } } }, error: ServingError, attempts: number) =>
      refused.push({ text: record.chunk.text, code: error.code, attempts }),
  };
  await stage.run(travellers(...texts), results, new AbortController().signal);
  return { vectors, refused, calls, holdLog };
}

const texts = (count: number) => Array.from({ length: count }, (_, i) => `text ${i}`);
const refuses = (bad: string, error: () => ServingError) => (batch: readonly string[]) => {
  if (batch.includes(bad)) throw error();
};

describe('EmbedStage', () => {
  it('gives each text its own vector', async () => {
    const { vectors, calls } = await embed(texts(5));
    for (const text of texts(5)) expect(vectors.get(text)).toEqual(Buffer.from(vectorOf(text)));
    expect(calls).toHaveLength(1);
  });

  it('one text that the model rejects does not fail its batch of 16 (T20)', async () => {
    const { vectors, refused, calls } = await embed([...texts(15), 'BAD'], refuses('BAD', rejected));
    expect(vectors.size).toBe(15);
    expect(refused).toEqual([{ text: 'BAD', code: 'INFERENCE_REJECTED', attempts: 1 }]);
    expect(calls.length - 1).toBeLessThanOrEqual(2 * Math.log2(16) + 2);
  });

  it('one bad text among 256 costs at most 2·log2(256)+1 extra calls', async () => {
    const { vectors, refused, calls } = await embed(
      [...texts(200), 'BAD', ...texts(255).slice(200)],
      refuses('BAD', rejected),
    );
    expect(vectors.size).toBe(255);
    expect(refused).toHaveLength(1);
    expect(calls.length - 1).toBeLessThanOrEqual(17);
  });

  it('INTERNAL is retried before the batch is taken apart (T20)', async () => {
    const { vectors, refused, calls } = await embed(['a', 'BAD'], refuses('BAD', failed));
    expect([...vectors.keys()]).toEqual(['a']);
    expect(refused).toEqual([{ text: 'BAD', code: 'INFERENCE_FAILED', attempts: 3 }]);
    expect(calls.slice(0, 3)).toEqual([
      ['a', 'BAD'],
      ['a', 'BAD'],
      ['a', 'BAD'],
    ]);
  });

  it('an engine that fails for every text, out of memory say, dead-letters nothing (M05)', async () => {
    const { vectors, refused } = await embed(texts(4), (_, call) => {
      if (call < 30) throw failed();
    });
    expect(vectors.size).toBe(4);
    expect(refused).toEqual([]);
  });

  it('a batch that the engine cannot do before the deadline is asked for in pieces, none of which is lost or blamed', async () => {
    let nowMs = 0;
    const fiftyMsARow = (batch: readonly string[]) => {
      nowMs += batch.length * 50;
      if (batch.length * 50 > 1_000) throw late();
    };
    const { vectors, refused, calls, holdLog } = await embed(texts(100), fiftyMsARow, undefined, () => nowMs);
    expect(vectors.size).toBe(100);
    expect(refused).toEqual([]);
    expect(calls.map(({ length }) => length)).toEqual([100, 50, 25, 13, 32, 16, 16, 16, 16, 16, 7]);
    expect(holdLog.slice(0, 2)).toEqual(['pause engine', 'resume engine']);
  });

  it('an outage is waited out and holds the source back meanwhile', async () => {
    const { vectors, calls, holdLog } = await embed(texts(2), (_, call) => {
      if (call <= 5) throw unavailable();
    });
    expect(vectors.size).toBe(2);
    expect(calls).toHaveLength(6);
    expect(holdLog).toEqual(['pause engine', 'resume engine']);
  });

  const bits = (...values: number[]) => Buffer.from(Uint16Array.from(values).buffer);
  for (const { name, row, code } of [
    { name: 'NaN', row: bits(0x7e00, 0, 0, 0), code: 'VECTOR_NOT_FINITE' },
    { name: '+Inf', row: bits(0x3c00, 0x7c00, 0, 0), code: 'VECTOR_NOT_FINITE' },
    { name: 'all zeros', row: bits(0, 0x8000, 0, 0), code: 'VECTOR_ZERO' },
  ]) {
    it(`a row of ${name} never reaches the store, its batch-mates do (T10)`, async () => {
      const { vectors, refused } = await embed(['1', '2', '3', '4'], undefined, (text) =>
        text === '2' ? row : undefined,
      );
      expect([...vectors.keys()].sort()).toEqual(['1', '3', '4']);
      expect(refused.map(({ text, code }) => ({ text, code }))).toEqual([{ text: '2', code }]);
    });
  }

  it('a model that gives NaN for everything is an outage, not a pile of dead letters', async () => {
    let calls = 0;
    const { vectors, refused } = await embed(['1', '2'], undefined, () =>
      ++calls < 20 ? encodeFp16(Float32Array.of(Number.NaN, 1, 1, 1)) : undefined,
    );
    expect(vectors.size).toBe(2);
    expect(refused).toEqual([]);
  });

  it('a wrong number of bytes stops the worker instead of shifting vectors', async () => {
    const run = embed(['1', '2'], undefined, () => Buffer.alloc(6, 1));
    await expect(run).rejects.toMatchObject({ code: 'INFERENCE_RESPONSE_INVALID' });
  });
});
