import { describe, expect, it } from 'vitest';
import { ServingError } from '../../../src/errors.ts';
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
    norm: 'unit',
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

  it('a text that the model fails with INTERNAL costs no more than one that it rejects (T20)', async () => {
    const { vectors, refused, calls } = await embed([...texts(255), 'BAD'], refuses('BAD', failed));
    expect(vectors.size).toBe(255);
    expect(refused).toEqual([{ text: 'BAD', code: 'INFERENCE_FAILED', attempts: 1 }]);
    expect(calls.length - 1).toBeLessThanOrEqual(17);
  });

  it('an engine that fails once in a while blames nobody', async () => {
    const { vectors, refused } = await embed(texts(64), (_, call) => {
      if (call % 3 === 1) throw failed();
    });
    expect(vectors.size).toBe(64);
    expect(refused).toEqual([]);
  });

  it('several bad texts in a batch are each found', async () => {
    const bad = new Set(['text 3', 'text 4', 'text 90', 'text 255']);
    const { vectors, refused } = await embed(texts(256), (batch) => {
      if (batch.some((text) => bad.has(text))) throw rejected();
    });
    expect(vectors.size).toBe(252);
    expect(new Set(refused.map(({ text }) => text))).toEqual(bad);
  });

  it('a batch of nothing but bad texts is refused to the last one (K18)', async () => {
    const { vectors, refused, calls } = await embed(texts(32), (batch) => {
      if (batch.some((text) => text.startsWith('text'))) throw rejected();
    });
    expect(vectors.size).toBe(0);
    expect(refused).toHaveLength(32);
    // Each node of the halving once, and one question after the engine for each text.
    expect(calls.length).toBe(63 + 32);
  });

  it('a text that crashes the engine each time is found in bounded time, and its batch-mates are embedded', async () => {
    const { vectors, refused, calls } = await embed([...texts(255), 'BAD'], refuses('BAD', unavailable));
    expect(vectors.size).toBe(255);
    expect(refused.map(({ text, code }) => ({ text, code }))).toEqual([{ text: 'BAD', code: 'INFERENCE_UNAVAILABLE' }]);
    const crashes = calls.filter((batch) => batch.includes('BAD'));
    expect(crashes.length).toBeLessThanOrEqual(20);
  });

  it('a text that alone outlasts the deadline does not hold its partition for ever', async () => {
    const { vectors, refused } = await embed([...texts(15), 'BAD'], refuses('BAD', late));
    expect(vectors.size).toBe(15);
    expect(refused.map(({ text, code }) => ({ text, code }))).toEqual([{ text: 'BAD', code: 'INFERENCE_DEADLINE' }]);
  });

  it('an outage of any length blames nobody, also when the engine comes and goes', async () => {
    const { vectors, refused } = await embed(texts(8), (_, call) => {
      if (call < 200 && call % 7 !== 0) throw unavailable();
    });
    expect(vectors.size).toBe(8);
    expect(refused).toEqual([]);
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
    expect(calls.at(-1)).toHaveLength(2);
    expect(holdLog).toEqual(['pause engine', 'resume engine']);
  });

  const bits = (...values: number[]) => Buffer.from(Uint16Array.from(values).buffer);
  for (const { name, row, code } of [
    { name: 'NaN', row: bits(0x7e00, 0, 0, 0), code: 'VECTOR_NOT_FINITE' },
    { name: '+Inf', row: bits(0x3c00, 0x7c00, 0, 0), code: 'VECTOR_NOT_FINITE' },
    { name: 'length 2', row: bits(0x4000, 0, 0, 0), code: 'VECTOR_NOT_UNIT' },
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

  it('answers of other calls, from a server that goes down, cost those calls and no more', async () => {
    const odd = () => new ServingError('SHM_INVALID', 'the output does not fit into its range');
    const { vectors, refused } = await embed(['1', '2'], (_, call) => {
      if (call % 3 !== 0 && call < 9) throw odd();
    });
    expect(vectors.size).toBe(2);
    expect(refused).toEqual([]);
  });

  it('an odd answer about the known good text does not stop the worker either', async () => {
    let probes = 0;
    const { refused } = await embed(['BAD'], ([text]) => {
      if (text === 'BAD') throw failed();
      if (++probes === 1) throw new ServingError('INFERENCE_RESPONSE_INVALID', 'rows of another call');
    });
    expect(probes).toBeGreaterThan(1);
    expect(refused).toEqual([{ text: 'BAD', code: 'INFERENCE_FAILED', attempts: 1 }]);
  });

  it('a wrong number of bytes stops the worker instead of shifting vectors', async () => {
    const run = embed(['1', '2'], undefined, () => Buffer.alloc(6, 1));
    await expect(run).rejects.toMatchObject({ code: 'INFERENCE_RESPONSE_INVALID' });
  });
});
