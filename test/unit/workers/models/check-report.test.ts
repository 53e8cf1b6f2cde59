/** What a person reads of a check, and the times that its options take. */
import { describe, expect, it } from 'vitest';
import { ServingError } from '../../../../src/errors.ts';
import { checkModel } from '../../../../src/golden/check.ts';
import type { Golden } from '../../../../src/golden/golden-file.ts';
import { reportLines } from '../../../../workers/models/check-report.ts';
import { duration, positiveDuration } from '../../../../workers/models/model-call.ts';
import { FakeModel, type FakeOptions, goldenEmbedder, goldenReranker } from '../../golden/fake-model.ts';

async function lines(golden: Golden, answer: FakeOptions['answer'] = undefined, showText = false): Promise<string> {
  const options = {
    ...{ client: new FakeModel({ golden, ...(answer && { answer }) }), golden, model: 'tiny', overrides: {} },
    ...{ repeat: 1, waitMs: 0, callTimeoutMs: 1_000, maxErrorRate: 0, nowMs: () => 0, onWaiting: () => {} },
  };
  const report = await checkModel(options, new AbortController().signal);
  return reportLines(report, golden, { showText }).join('\n');
}

const EMBEDDER = goldenEmbedder({ secretA: [1, 0], secretB: [0, 1] });
const UNNAMED = { ...EMBEDDER, rows: EMBEDDER.rows.map((row, index) => ({ ...row, label: `text ${index}` })) };

describe('the report of a check', () => {
  it('begins with the verdict, and has a table of the rows', async () => {
    const text = await lines(UNNAMED);
    expect(text).toMatch(/^tiny at fake:1: equal\n/);
    expect(text).toMatch(/ 0 {2}text 0\s+1\.0000000\s+1\.0000000\n/);
    expect(text).not.toContain('note:');
  });

  it('marks what is wrong and names the worst', async () => {
    const text = await lines(UNNAMED, (given) => (given === 'secretB' ? [1, 0] : undefined));
    expect(text).toMatch(/^tiny at fake:1: DIFFERS\n {2}row 1 \(text 1\) in a batch: cosine 0\.000000 is below/);
    expect(text).toContain('worst: row 1 (text 1) in a batch: 0.0000000');
    expect(text).toMatch(/ 1 {2}text 1\s+0\.0000000 !\s+0\.0000000 !/);
  });

  it('shows no text unless asked to', async () => {
    const wrong = () => [Number.NaN, 0];
    expect(await lines(UNNAMED, wrong)).not.toContain('secret');
    expect(await lines(UNNAMED, wrong, true)).toContain('"secretA"');
    const failing = () => new ServingError('INFERENCE_REJECTED', 'refused');
    expect(await lines(UNNAMED, failing)).not.toContain('secret');
  });

  it('tells ten reasons and counts the rest; no line holds a control character of a text', async () => {
    const many = goldenEmbedder(Object.fromEntries(Array.from({ length: 30 }, (_, i) => [`t\u001b[31m${i}`, [1, 0]])));
    const text = await lines(many, () => [0, 1], true);
    expect(text).toContain('  and 50 more');
    expect(text).not.toContain('\u001b');
  });

  it('of a reranker speaks of scores', async () => {
    const text = await lines(goldenReranker({ near: 0.9, far: 0.1 }), (given) => (given === 'far' ? [0.2] : undefined));
    expect(text).toContain('bounds: score within 0.0001');
    expect(text).toMatch(/ 1 {2}far\s+0\.1\d+ !/);
  });

  it('says of a golden file from a live model what it proves', async () => {
    const producer = { ...UNNAMED.producer, kind: 'endpoint' } as const;
    expect(await lines({ ...UNNAMED, producer })).toContain('equal means unchanged, not right');
  });
});

describe('times of the options', () => {
  it.each([
    ['0s', 0],
    ['500ms', 500],
    ['60s', 60_000],
    ['1.5m', 90_000],
    ['1440m', 86_400_000],
  ])('%s is %d ms', (text, ms) => expect(duration(text)).toBe(ms));
  it.each(['', '60', '-1s', '1h', '1 s', '1441m', '1e3s', 'NaNs', '٣s'])('%j is refused', (text) => {
    expect(() => duration(text)).toThrow(/500ms, 60s or 10m/);
  });
  it('some may not be 0', () => expect(() => positiveDuration('0ms')).toThrow('above 0'));
});
