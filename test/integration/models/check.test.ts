/** `rag-serving models check` against a real Triton: what is well, and each way in which a model is not. */
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeAll, describe, expect, it } from 'vitest';
import { killAllPrograms } from '../../../scripts/stack/program.ts';
import { formatGolden, parseGolden } from '../../../src/golden/golden-file.ts';
import { useTriton } from '../../support/stack.ts';
import { ended, models, referenceOfMiniLm, startModels, take, useFolder } from './model-commands.ts';

const EMBEDDER = 'batch_embedder_ensemble';
const RERANKER = 'online_reranker_ensemble';
/** Vectors of a hash under one fingerprint: what one of these says of a text, the others say as well, unless it holds a marker. */
const HASHED = ['nan_rows', 'slow', 'rejecting'];

const triton = useTriton({ models: [EMBEDDER, RERANKER, ...HASHED] });
const folder = useFolder();
let reference: string;

beforeAll(async () => {
  reference = join(folder(), 'minilm.golden.json');
  await writeFile(reference, formatGolden(await referenceOfMiniLm()));
}, 120_000);
afterEach(killAllPrograms);

const at = (model: string) => ({ url: triton().grpcUrl, model });

function check(model: string, golden: string, ...more: readonly string[]) {
  return models(['check', '--url', triton().grpcUrl, '--model', model, '--golden', golden, '--json', ...more]);
}

async function control(model: string, action: 'load' | 'unload'): Promise<void> {
  const response = await fetch(`${triton().httpUrl}/v2/repository/models/${model}/${action}`, { method: 'POST' });
  expect(response.status, await response.text()).toBe(200);
}

describe('an embedder', () => {
  it('says in the real Triton what the unmodified model says: every length, script and NUL, alone and in one batch', async () => {
    const { code, report, output } = await check(EMBEDDER, reference);
    expect({ code, reasons: report?.reasons }, output).toEqual({ code: 0, reasons: [] });
    expect(report?.worst?.cosine).toBeGreaterThan(0.9995);
    expect(report).toMatchObject({
      dims: { live: '384' },
      dtype: { golden: 'FP16', live: 'FP16' },
      calls: { failed: 0 },
    });
    expect(report?.notes.join()).toContain('fingerprint was not compared');
  });

  it('another fingerprint than the expected one is exit code 3', async () => {
    const { code, report } = await check(EMBEDDER, reference, '--fingerprint', 'all-MiniLM-L12-v2@1');
    expect(code).toBe(3);
    expect(report?.reasons).toEqual([expect.stringMatching(/^fingerprint: all-MiniLM-L6-v2-int8@\w+/)]);
  });

  it('one golden vector of another text is found, and named', async () => {
    const golden = parseGolden(await readFile(reference, 'utf8'), 'x');
    if (golden.kind !== 'embedder') throw new Error('no embedder');
    const rows = golden.rows.map((row) => (row.label === 'german' ? { ...row, vector: golden.rows[0]!.vector } : row));
    const file = join(folder(), 'mixed.golden.json');
    await writeFile(file, formatGolden({ ...golden, rows }));
    const { code, report } = await check(EMBEDDER, file);
    expect(code).toBe(3);
    expect(report?.rows.filter(({ faults }) => faults.length > 0).map(({ label, way }) => [label, way])).toEqual([
      ['german', 'batch'],
      ['german', 'alone'],
    ]);
  });

  it('a folder with one golden file will do, and the table shows labels but no text', async () => {
    const golden = await take(folder(), { first: 'SECRET one', second: 'SECRET two' }, at('slow'));
    const { code, output } = await models(['check', '--url', triton().grpcUrl, '--model', 'slow', '--golden', golden]);
    expect(code, output).toBe(0);
    expect(output).toMatch(/slow at 127\.0\.0\.1:\d+: equal/);
    expect(output).toContain('equal means unchanged, not right');
    expect(output).toMatch(/1 {2}second\s+1\.0000000\s+1\.0000000/);
    expect(output).not.toContain('SECRET');
    const args = ['check', '--url', triton().grpcUrl, '--model', 'slow', '--golden', golden, '--show-text'];
    expect((await models(args)).output).toContain('"SECRET two"');
  });
});

describe('a reranker', () => {
  it('is equal to itself; a changed order and a changed score are exit code 3', async () => {
    const golden = join(folder(), 'reranker.golden.json');
    const taken = await models([
      ...['golden', '--kind', 'reranker', '--url', triton().grpcUrl, '--model', RERANKER, '--output', golden],
    ]);
    expect(taken.code, taken.output).toBe(0);
    const same = await check(RERANKER, golden);
    expect({ code: same.code, reasons: same.report?.reasons }).toEqual({ code: 0, reasons: [] });

    const file = JSON.parse(await readFile(golden, 'utf8')) as { pairs: { label: string; score: number }[] };
    const named = (label: string) => file.pairs.find((pair) => pair.label === label)!;
    const [answer, offTopic] = [named('ice > answer'), named('ice > off topic')];
    [answer.score, offTopic.score] = [offTopic.score, answer.score];
    await writeFile(golden, JSON.stringify(file));
    const swapped = await check(RERANKER, golden);
    expect(swapped.code).toBe(3);
    expect(swapped.report?.reasons.join('\n')).toMatch(/"ice > answer" comes before "ice > off topic"/);
    expect(swapped.report?.reasons.join('\n')).toMatch(/row 0 \(ice > answer\) alone: the score is off by/);
  });

  it('is no embedder: exit code 3, with what was expected', async () => {
    const { code, report } = await check(RERANKER, reference);
    expect(code).toBe(3);
    expect(report?.reasons.join()).toContain('MODEL_CONTRACT_MISMATCH');
  });
});

describe('models that misbehave', () => {
  it('NaN, Infinity and zeros are exit code 3 and name their rows, neighbours in the batch are good', async () => {
    const texts = { good: 'fine', nan: 'a nan-row', inf: 'an inf-row', zero: 'a zero-row', also: 'fine too' };
    const { code, report } = await check('nan_rows', await take(folder(), texts, at('rejecting')));
    expect(code).toBe(3);
    const bad = report?.rows.filter(({ faults }) => faults.length > 0).map(({ label, way }) => `${label} ${way}`);
    expect(bad).toEqual(['nan', 'inf', 'zero'].flatMap((label) => [`${label} batch`, `${label} alone`]));
    expect(report?.worst).toMatchObject({ notFinite: 1 });
  });

  it('a text that the model fails on is exit code 3; what failed in the batch with it is not held against the others (T20)', async () => {
    const golden = await take(folder(), { good: 'fine', bad: 'reject-request', also: 'well' }, at('nan_rows'));
    const { code, report } = await check('rejecting', golden);
    expect(code).toBe(3);
    expect(report?.reasons[0]).toBe('row 1 (bad): the model fails on it each time, not on others');
    expect(report?.rows.filter(({ way, answers }) => way === 'alone' && answers > 0)).toHaveLength(2);
  });

  it('a model whose process dies is exit code 1: nothing was proved', async () => {
    const golden = await take(folder(), { crash: 'crash-stub', good: 'fine' }, at('nan_rows'));
    const { code, report } = await check('rejecting', golden, '--call-timeout', '10s');
    expect(code).toBe(1);
    expect(report).toMatchObject({ outcome: 'unchecked' });
    await control('rejecting', 'unload');
    await control('rejecting', 'load');
  });

  it('a slow model is equal until there is a limit', async () => {
    const golden = await take(folder(), { one: 'a text', two: 'another' }, at('rejecting'));
    const { code, report } = await check('slow', golden, '--repeat', '2');
    expect(code).toBe(0);
    expect(report?.latencyMs.alone).toMatchObject({ calls: 4 });
    expect(report?.latencyMs.alone?.p50).toBeGreaterThan(300);
    const limited = await check('slow', golden, '--max-p99-ms', '100');
    expect(limited.code).toBe(3);
    expect(limited.report?.reasons.join()).toMatch(/^latency: P99 of single rows is \d+\.\d ms, over 100 ms$/);
  });
});

describe('a model that is not loaded (T18)', () => {
  it('is exit code 1 after the wait, though the server is ready', async () => {
    const golden = await take(folder(), { one: 'unloaded' }, at('nan_rows'));
    await control('nan_rows', 'unload');
    const { code, report } = await check('nan_rows', golden, '--wait', '1s');
    expect(code).toBe(1);
    expect(report?.reasons[0]).toMatch(/^MODEL_NOT_READY: nan_rows at \S+ did not answer within 1 s/);

    const waiting = startModels([
      'check',
      '--url',
      triton().grpcUrl,
      '--model',
      'nan_rows',
      '--golden',
      golden,
      '--json',
    ]);
    await expect.poll(() => waiting.output, { timeout: 20_000 }).toContain('waiting: the server has no model nan_rows');
    await control('nan_rows', 'load');
    expect((await ended(waiting)).code).toBe(0);
  });

  it('a step of the ensemble that is away is waited for as well', async () => {
    const golden = await take(folder(), { one: 'a step' }, at(EMBEDDER));
    await control('batch_embedder_trt', 'unload');
    const { code, report } = await check(EMBEDDER, golden, '--wait', '1s');
    expect({ code, reasons: report?.reasons.length }).toEqual({ code: 1, reasons: 1 });
    await control('batch_embedder_trt', 'load');
    await control(EMBEDDER, 'load');
    expect((await check(EMBEDDER, golden)).code).toBe(0);
  });
});
