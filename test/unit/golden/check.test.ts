/** What a check finds and what it comes to, against a server in memory that answers as told. */
import { describe, expect, it } from 'vitest';
import { type ErrorCode, ServingError } from '../../../src/errors.ts';
import { type CheckOptions, checkModel } from '../../../src/golden/check.ts';
import { FakeModel, type FakeOptions, goldenEmbedder, goldenReranker } from './fake-model.ts';

const EMBEDDER = goldenEmbedder({ a: [1, 0, 0], b: [0, 1, 0], c: [0, 0, 1] });
const LONG = 'word '.repeat(12);
const RERANKER = goldenReranker({ best: 0.9, good: 0.5, also: 0.495, bad: 0.1 });

async function check(fake: Partial<FakeOptions>, options: Partial<CheckOptions> = {}, signal?: AbortSignal) {
  const golden = options.golden ?? fake.golden ?? EMBEDDER;
  const client = new FakeModel({ golden, ...fake });
  const waited: string[] = [];
  let now = 0;
  const report = await checkModel(
    {
      ...{ client, golden, model: 'tiny', overrides: {}, repeat: 1, waitMs: 0, callTimeoutMs: 1_000, maxErrorRate: 0 },
      // A millisecond a look at the clock.
      nowMs: () => now++,
      onWaiting: (reason) => waited.push(reason),
      ...options,
    },
    signal ?? new AbortController().signal,
  );
  return { ...report, waited, client };
}

const error = (code: ErrorCode) => new ServingError(code, `told ${code}`);

describe('an embedder', () => {
  it('is equal when each row is, alone and in a batch', async () => {
    const report = await check({});
    expect(report).toMatchObject({ outcome: 'equal', reasons: [], calls: { total: 4, failed: 0 } });
    // One row to see that it answers, all together, each alone.
    expect(report.client.calls).toEqual([1, 3, 1, 1, 1]);
    expect(report.rows.map(({ index, way, answers, cosine }) => [index, way, answers, cosine])).toEqual(
      [0, 1, 2].flatMap((index) => ['batch', 'alone'].map((way) => [index, way, 1, 1])),
    );
  });

  it('rows that do not fit into one batch go in several', async () => {
    expect((await check({ maxBatch: 2 })).client.calls).toEqual([1, 2, 1, 1, 1, 1]);
  });

  const astray: { name: string; vector: number[]; says: string }[] = [
    { name: 'another direction', vector: [0, 0.99, 0.141], says: 'cosine 0.990' },
    { name: 'NaN', vector: [Number.NaN, 1, 0], says: 'not finite in 1 of 1' },
    { name: 'Infinity', vector: [0, Number.POSITIVE_INFINITY, 0], says: 'not finite in 1 of 1' },
    { name: 'zeros', vector: [0, 0, 0], says: 'all zeros' },
    { name: 'another length', vector: [0, 1.02, 0], says: 'the length is off by 2.00 %' },
    { name: 'the opposite', vector: [0, -1, 0], says: 'cosine -1' },
  ];
  for (const { name, vector, says } of astray) {
    it(`${name} in one row differs, and the row is named by its index and label`, async () => {
      const report = await check({ answer: (text, rows) => (text === 'b' && rows === 1 ? vector : undefined) });
      expect(report.outcome).toBe('differs');
      expect(report.reasons).toHaveLength(1);
      expect(report.reasons[0]).toContain(`row 1 (row b) alone: ${says}`.replace('all zeros', 'all zeros in 1'));
      expect(report.worst).toMatchObject({ index: 1, way: 'alone' });
    });
  }

  it('padding that leaks in a batch differs, and says where to look (X03)', async () => {
    const report = await check({ answer: (text, rows) => (text === 'a' && rows > 1 ? [0.9, 0.436, 0] : undefined) });
    expect(report).toMatchObject({ outcome: 'differs', worst: { index: 0, way: 'batch' } });
    expect(report.notes.join()).toContain('padding');
  });

  it('drift of the longest text alone differs (X01)', async () => {
    const golden = goldenEmbedder({ short: [1, 0], [LONG]: [0, 1] });
    const report = await check({ golden, answer: (text) => (text === LONG ? [0.05, 0.99875] : undefined) });
    expect(report.reasons).toHaveLength(2);
    expect(report).toMatchObject({ outcome: 'differs', worst: { index: 1 } });
  });

  it('rows that changed places differ', async () => {
    const swap: Record<string, number[]> = { a: [0, 1, 0], b: [1, 0, 0] };
    const report = await check({ answer: (text, rows) => (rows > 1 ? swap[text] : undefined) });
    expect(report.reasons.map((reason) => reason.slice(0, 5))).toEqual(['row 0', 'row 1']);
  });

  it('one bad answer of many is not forgotten', async () => {
    let asked = 0;
    const answer = (text: string) => (text === 'c' && ++asked === 5 ? [1, 0, 0] : undefined);
    const report = await check({ answer }, { repeat: 4 });
    expect(report.outcome).toBe('differs');
    expect(report.rows.find(({ faults }) => faults.length > 0)).toMatchObject({ index: 2, answers: 4, cosine: 0 });
  });

  it('bounds follow the type: what passes in FP16 is too far in FP32, and may be set', async () => {
    const answer = (text: string) => (text === 'a' ? [0.9998, 0.02, 0] : undefined);
    expect((await check({ answer })).outcome).toBe('differs');
    expect((await check({ answer }, { overrides: { minCosine: 0.999, maxLengthError: 0.01 } })).outcome).toBe('equal');
    const half = { ...EMBEDDER, precision: 'FP16' as const, dtype: 'FP16' as const };
    expect((await check({ answer }, { golden: half })).outcome).toBe('equal');
    expect((await check({ answer }, { golden: half, overrides: { minCosine: 0.99999 } })).outcome).toBe('differs');
  });

  it('texts beyond the window alone point to the tokenizer', async () => {
    const rows = EMBEDDER.rows.map((row) => ({ ...row, tokens: row.text === 'c' ? 900 : 3 }));
    const report = await check(
      { answer: (text) => (text === 'c' ? [1, 0, 0] : undefined) },
      { golden: { ...EMBEDDER, rows } },
    );
    expect(report.notes.join()).toContain('cuts at another length');
  });
});

describe('the model itself', () => {
  it('another fingerprint differs; the command line may expect another', async () => {
    const report = await check({ fingerprint: 'tiny@2' });
    expect(report).toMatchObject({ outcome: 'differs', fingerprint: { golden: 'tiny@1', live: 'tiny@2' } });
    expect((await check({ fingerprint: 'tiny@2' }, { overrides: { fingerprint: 'tiny@2' } })).outcome).toBe('equal');
  });

  it('a golden file without fingerprint compares the vectors, and says that it does not know', async () => {
    const report = await check({}, { golden: { ...EMBEDDER, fingerprint: null } });
    expect(report.outcome).toBe('equal');
    expect(report.notes.join()).toContain('not compared');
  });

  it('other dimensions differ, and nothing is asked', async () => {
    const live = goldenEmbedder({ a: [1, 0] });
    const report = await check(
      { golden: live },
      { golden: { ...EMBEDDER, rows: [{ ...EMBEDDER.rows[0]!, text: 'a' }] } },
    );
    expect(report.reasons).toEqual(['dims: 2, the golden file has 3']);
    expect(report).toMatchObject({ outcome: 'differs', rows: [] });
  });

  it('another type differs though the vectors do not', async () => {
    expect(await check({ dtype: 'FP16' })).toMatchObject({
      outcome: 'differs',
      reasons: ['dtype: FP16, the golden file has FP32'],
    });
  });

  it('a reranker is no embedder', async () => {
    expect(await check({ golden: RERANKER }, { golden: EMBEDDER })).toMatchObject({ outcome: 'differs', rows: [] });
  });
});

describe('a reranker', () => {
  it('is equal when scores and order are', async () => {
    expect(await check({ golden: RERANKER })).toMatchObject({ outcome: 'equal', reasons: [] });
  });

  it('differs by one score', async () => {
    const report = await check({ golden: RERANKER, answer: (text) => (text === 'bad' ? [0.13] : undefined) });
    expect(report.reasons).toHaveLength(2);
    expect(report.reasons[0]).toContain('the score is off by 0.03');
  });

  it('tells the order that changed; passages too close to tell apart may change places', async () => {
    const swap: Record<string, number[]> = { good: [0.05], also: [0.505] };
    const report = await check(
      { golden: RERANKER, answer: (text) => swap[text] },
      { overrides: { maxScoreError: 0.02 } },
    );
    const order = report.reasons.filter((reason) => reason.startsWith('order'));
    expect(order).toEqual(['batch', 'alone'].map((way) => `order (${way}): "bad" comes before "good"`));
    const close = await check(
      { golden: RERANKER, answer: (text) => (text === 'also' ? [0.505] : undefined) },
      { overrides: { maxScoreError: 0.02 } },
    );
    expect(close.outcome).toBe('equal');
  });

  it('a score of NaN differs', async () => {
    const report = await check({ golden: RERANKER, answer: (text) => (text === 'good' ? [Number.NaN] : undefined) });
    expect(report.worst).toMatchObject({ label: 'good', notFinite: 1 });
  });
});

describe('calls that fail', () => {
  const failures: { code: ErrorCode; outcome: string }[] = [
    { code: 'INFERENCE_REJECTED', outcome: 'differs' },
    { code: 'INFERENCE_RESPONSE_INVALID', outcome: 'differs' },
    { code: 'INFERENCE_FAILED', outcome: 'differs' },
    { code: 'INFERENCE_DEADLINE', outcome: 'unchecked' },
    { code: 'INFERENCE_UNAVAILABLE', outcome: 'unchecked' },
    { code: 'INFERENCE_ACCESS_DENIED', outcome: 'unchecked' },
  ];
  for (const { code, outcome } of failures) {
    it(`${code} of one text, ever again: ${outcome}`, async () => {
      const report = await check({ answer: (text) => (text === 'b' ? error(code) : undefined) });
      expect(report).toMatchObject({ outcome, calls: { byCode: { [code]: expect.any(Number) } } });
      expect(report.reasons.join()).toContain(
        code === 'INFERENCE_FAILED' ? 'row 1 (row b): the model fails on it' : code,
      );
    });
  }

  it('a model that fails on everything proves nothing about a text', async () => {
    const report = await check({ answer: () => error('INFERENCE_FAILED') });
    expect(report).toMatchObject({ outcome: 'unchecked', worst: null });
  });

  it('a proved difference outweighs what could not be asked', async () => {
    const answer = (text: string) => ({ b: [1, 0, 0], c: error('INFERENCE_DEADLINE') })[text];
    expect((await check({ answer })).outcome).toBe('differs');
  });

  it('now and then may be allowed, if each row is answered some time', async () => {
    let call = 0;
    const beforeCall = () => {
      if (++call === 3) throw error('INFERENCE_DEADLINE');
    };
    expect((await check({ beforeCall }, { repeat: 3 })).outcome).toBe('unchecked');
    call = 0;
    const tolerant = await check({ beforeCall }, { repeat: 3, maxErrorRate: 0.1 });
    expect(tolerant).toMatchObject({ outcome: 'equal', calls: { total: 12, failed: 1 } });
  });

  it('a dead server is given up after three calls, not after one for each row', async () => {
    let calls = 0;
    const beforeCall = () => {
      if (++calls > 2) throw error('INFERENCE_UNAVAILABLE');
    };
    const report = await check({ beforeCall }, { repeat: 50 });
    expect(report.client.calls).toHaveLength(5);
    expect(report.reasons[0]).toContain('given up: INFERENCE_UNAVAILABLE');
  });

  it('a full queue is waited out, and no error', async () => {
    let calls = 0;
    const beforeCall = () => {
      if (++calls === 3) throw error('INFERENCE_QUEUE_FULL');
    };
    expect(await check({ beforeCall })).toMatchObject({ outcome: 'equal', calls: { total: 4, failed: 0, waits: 1 } });
  });
});

describe('waiting, time and interruption', () => {
  it('a model that is never ready: asked once without a wait (T18)', async () => {
    const report = await check({ ready: () => false });
    expect(report).toMatchObject({ outcome: 'unchecked', rows: [] });
    expect(report.reasons[0]).toContain('MODEL_NOT_READY: tiny at fake:1 did not answer');
  });

  it('ready says nothing while a step of the ensemble is not: only an inference counts (T18)', async () => {
    let asked = 0;
    const beforeCall = () => {
      if (++asked < 3) throw error('MODEL_NOT_READY');
    };
    const report = await check({ beforeCall }, { waitMs: 60_000 });
    expect(report.outcome).toBe('equal');
    expect(report.waited).toEqual(['told MODEL_NOT_READY']);
  });

  it('what no waiting helps against is not waited for', async () => {
    const report = await check({ ready: () => error('INFERENCE_ACCESS_DENIED') }, { waitMs: 3_600_000 });
    expect(report).toMatchObject({ outcome: 'unchecked', waited: [] });
  });

  it('an interruption keeps what was found out until then', async () => {
    const stop = new AbortController();
    let calls = 0;
    const beforeCall = () => {
      if (++calls === 4) {
        stop.abort(new Error('received SIGINT'));
        throw error('INFERENCE_CANCELLED');
      }
    };
    const answer = (text: string) => (text === 'a' ? [0, 1, 0] : undefined);
    const found = await check({ beforeCall, answer }, { repeat: 9 }, stop.signal);
    expect(found.outcome).toBe('differs');
    expect(found.reasons.join()).toContain('given up: INFERENCE_CANCELLED: received SIGINT');
    expect(found.client.calls).toHaveLength(4);
  });

  it('before it began it is undone', async () => {
    const report = await check({}, {}, AbortSignal.abort(new Error('received SIGTERM')));
    expect(report).toMatchObject({ outcome: 'unchecked', reasons: ['INFERENCE_CANCELLED: received SIGTERM'] });
  });

  it('P99 over its limit differs; it is a number that was measured', async () => {
    // Each call takes a millisecond of the fake clock.
    expect(await check({}, { maxP99Ms: 1 })).toMatchObject({
      outcome: 'equal',
      latencyMs: { alone: { calls: 3, p50: 1, p99: 1, max: 1 }, batch: { calls: 1 } },
    });
    const slow = await check({}, { maxP99Ms: 0.5 });
    expect(slow.reasons).toEqual(['latency: P99 of single rows is 1.0 ms, over 0.5 ms']);
  });
});
