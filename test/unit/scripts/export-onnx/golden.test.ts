/** The golden file that an export writes: it is the unmodified model's word, not that of the file under test. */
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type ExportRequest, exportModel } from '../../../../scripts/export-onnx/export-model.ts';
import { openTokenizer, sequenceOf } from '../../../../scripts/export-onnx/parity/sequences.ts';
import { TrialSession } from '../../../../scripts/export-onnx/parity/session.ts';
import type { ModelProto } from '../../../../scripts/onnx/gen/onnx_pb.ts';
import { DataType } from '../../../../scripts/onnx/tensors.ts';
import {
  type Golden,
  type GoldenEmbedder,
  type GoldenReranker,
  parseGolden,
} from '../../../../src/golden/golden-file.ts';
import { cosineOf, scoreErrorOf } from '../../../../src/golden/measures.ts';
import { defaultPairs, defaultTexts } from '../../../../src/golden/texts.ts';
import { fp16ToFp32, fp32ToFp16 } from '../../../../src/kserve/fp16.ts';
import { TINY_DIMS, tinyEncoder, writeTinyModel } from './tiny-encoder.ts';

const WINDOW = 64;
let folder: string;
let out: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'rag-export-golden-'));
  out = join(folder, 'out', 'model.onnx');
});
afterEach(() => rm(folder, { recursive: true, force: true }));

async function exported<T extends Golden>(model: ModelProto, request: Partial<ExportRequest>, config = {}): Promise<T> {
  await writeTinyModel(join(folder, 'in'), model, { max_position_embeddings: WINDOW, ...config });
  const whole: ExportRequest = {
    ...{ type: 'embedding' as const, model: 'tiny', folder: join(folder, 'in'), graph: 'model.onnx', outputPath: out },
    ...{ head: { fp16: false }, threads: 1 },
    ...request,
  };
  const report = await exportModel(whole, () => {}, new AbortController().signal);
  expect(report.accepted).toBe(true);
  const file = `${out}.golden.json`;
  return parseGolden(await readFile(file, 'utf8'), file) as T;
}

/** What the exported file says of a text. */
async function ask(output: string, text: string, pair?: string): Promise<Float32Array> {
  const inputs = (['input_ids', 'attention_mask'] as const).map((name) => ({
    name,
    original: name,
    type: DataType.INT64,
  }));
  const session = await TrialSession.open({ path: out, inputs, output, padTokenId: 0, threads: 1 });
  try {
    const { sequence } = sequenceOf(await openTokenizer(join(folder, 'in')), text, pair, WINDOW);
    return (await session.run([sequence])).values;
  } finally {
    await session.close();
  }
}

describe('golden vectors of an export', () => {
  it('are there for each text of the package, and the exported model gives them', async () => {
    const golden = await exported<GoldenEmbedder>(tinyEncoder(), {});
    expect(golden).toMatchObject({
      ...{ kind: 'embedder', dims: TINY_DIMS, dtype: 'FP32', precision: 'FP32', maxTokens: WINDOW, fingerprint: null },
      producer: { kind: 'reference', program: 'export-onnx', model: 'tiny', properties: { pooling: 'mean' } },
    });
    expect(golden.rows.map(({ label, text }) => ({ label, text }))).toEqual(defaultTexts);
    for (const { text, vector } of golden.rows) {
      expect(cosineOf(vector, await ask('EMBEDDING', text))).toBeGreaterThan(0.99999);
    }
  });

  it('tell how long a text was before it was cut', async () => {
    const { rows } = await exported<GoldenEmbedder>(tinyEncoder(), {});
    expect(rows.find(({ label }) => label === 'empty')?.tokens).toBe(2);
    expect(rows.find(({ label }) => label.startsWith('900 words'))?.tokens).toBeGreaterThan(WINDOW);
  });

  it('of an FP16 export are in full precision: they come from the unmodified model', async () => {
    const golden = await exported<GoldenEmbedder>(tinyEncoder(), { head: { fp16: true } });
    expect(golden).toMatchObject({ dtype: 'FP16', precision: 'FP16' });
    const values = golden.rows.flatMap(({ vector }) => [...vector]);
    expect(values.some((value) => fp16ToFp32(fp32ToFp16(value)) !== value)).toBe(true);
  });

  it('have the dimensions and the length of the export', async () => {
    const golden = await exported<GoldenEmbedder>(tinyEncoder(), { head: { fp16: false, matryoshka: 5 } });
    expect(golden.dims).toBe(5);
    expect(Math.hypot(...golden.rows[0]!.vector)).toBeCloseTo(1, 5);
  });

  it('the same model gives the same file', async () => {
    await exported(tinyEncoder(), {});
    const first = await readFile(`${out}.golden.json`, 'utf8');
    await exported(tinyEncoder(), {});
    expect(await readFile(`${out}.golden.json`, 'utf8')).toBe(first);
  });

  it('are scores for a reranker, of query and passage', async () => {
    const golden = await exported<GoldenReranker>(tinyEncoder({ labels: 1 }), { type: 'reranker' });
    expect(golden.rows.map(({ label }) => label)).toEqual(defaultPairs.map(({ label }) => label));
    for (const { query, passage, score } of golden.rows) {
      const [given = Number.NaN] = await ask('SCORE', query, passage);
      expect(scoreErrorOf(score, given)).toBeLessThan(1e-4);
    }
  });

  it('a model that the gate refuses leaves none', async () => {
    await writeTinyModel(join(folder, 'in'), tinyEncoder({ gain: 1e6 }), { max_position_embeddings: WINDOW });
    const request = { type: 'embedding', model: 'tiny', folder: join(folder, 'in'), graph: 'model.onnx' } as const;
    const head = { fp16: true };
    const report = await exportModel(
      { ...request, outputPath: out, head, threads: 1 },
      () => {},
      new AbortController().signal,
    );
    expect(report.accepted).toBe(false);
    expect(await readdir(join(folder, 'out'))).toEqual([]);
  });
});
