/** The real model: all-MiniLM-L6-v2, fetched once into the user's cache. Needs `npm run build` for its thread. */
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { readEngineConfig } from '../../../src/config/programs.ts';
import { OnnxThread } from '../../../src/engine/onnx-thread-client.ts';
import { decodeFp16 } from '../../../src/kserve/fp16.ts';
import { cosine, referenceEmbeddings } from '../../support/reference-embeddings.ts';
import { embed, inlineOutput, type RunningEngine, runEngine, texts } from './engine-fixture.ts';

const DIMS = 384;
const { cacheDir } = readEngineConfig(process.env);
let running: RunningEngine;
beforeAll(async () => {
  running = await runEngine({ model: { kind: 'onnx', source: { cacheDir }, threads: 2 } });
});
afterAll(() => running.stop());

async function vectorsOf(values: readonly string[]): Promise<Float32Array[]> {
  const bytes = await inlineOutput(running.client, embed(values));
  const all = decodeFp16(bytes);
  return values.map((_, i) => all.subarray(i * DIMS, (i + 1) * DIMS));
}

const subjects = ['The harbour', 'A compiler', 'Das Gebäude', 'La rivière', '猫', 'Кошка', 'The 🚀 rocket', 'An index'];
const deeds = ['waits for the morning tide', 'rejects the program: `x < y`', 'steht am Fluß', 'ne s’arrête jamais'];

/** 100 texts: many scripts and lengths, blank ones, one word of 300 letters, some beyond 512 tokens. */
function diverseTexts(): string[] {
  const odd = [
    '',
    ' ',
    'x',
    '\n\n',
    'a\u0000b',
    'z'.repeat(300),
    '你好，世界。'.repeat(20),
    '🙂'.repeat(30),
    '[CLS] [SEP]',
  ];
  const rest = Array.from({ length: 100 - odd.length }, (_, i) => {
    const sentence = `${subjects[i % 8]} ${deeds[(i * 3) % 4]}, number ${i * 37}.`;
    const times = i % 30 === 0 ? 60 : 1 + (i % 6);
    return Array.from({ length: times }, (_, j) => `${sentence} ${subjects[(i + j) % 8]} ${j}.`).join(' ');
  });
  return [...odd, ...rest];
}

describe('the real model', () => {
  it('gives the vectors that onnxruntime and tokenizers of Python give: cosine ≥ 0.9995 for 100 diverse texts', async () => {
    const values = diverseTexts();
    const [ours, theirs] = await Promise.all([vectorsOf(values), referenceEmbeddings(values, cacheDir)]);
    const worst = values.map((_, i) => cosine(ours[i]!, theirs[i]!)).sort((a, b) => a - b)[0];
    expect(worst).toBeGreaterThanOrEqual(0.9995);
    for (const vector of ours) expect(Math.hypot(...vector)).toBeCloseTo(1, 2);
  });

  it('puts related texts closer than unrelated ones', async () => {
    const [cat, feline, stocks, katze] = await vectorsOf([
      'The cat sits on the mat.',
      'A feline rests on a rug.',
      'Stock markets fell sharply today.',
      'How do I register a shared memory region?',
    ]);
    expect(cosine(cat!, feline!)).toBeGreaterThan(cosine(cat!, stocks!) + 0.3);
    expect(cosine(cat!, feline!)).toBeGreaterThan(cosine(cat!, katze!) + 0.3);
  });

  it('gives a short text the same vector alone and beside long ones: padding does not leak (X03)', async () => {
    const short = 'three short tokens';
    const long = 'a sentence that goes on and on '.repeat(80);
    const [alone] = await vectorsOf([short]);
    const [beside] = await vectorsOf([short, long, '', `${short} and more`]);
    expect(cosine(alone!, beside!)).toBeGreaterThanOrEqual(0.999);
  });

  it('gives each text its own vector whatever the order of the batch', async () => {
    const values = diverseTexts().slice(0, 40);
    const forth = await vectorsOf(values);
    const back = (await vectorsOf(values.toReversed())).toReversed();
    for (const [i, vector] of forth.entries()) expect(cosine(vector, back[i]!)).toBeGreaterThanOrEqual(0.999);
  });

  it('embeds 100 texts within 10 s', async () => {
    const values = Array.from({ length: 100 }, (_, i) => `${subjects[i % 8]} ${deeds[i % 4]} ${i}. `.repeat(3));
    const start = performance.now();
    await vectorsOf(values);
    expect(performance.now() - start).toBeLessThan(10_000);
  });

  it('answers health and a query while a batch computes', async () => {
    const { client } = running;
    const long = Array.from({ length: 128 }, (_, i) => `text ${i} `.repeat(60));
    let done = false;
    const batch = vectorsOf(long).then(() => {
      done = true;
    });
    await new Promise((resolve) => setTimeout(resolve, 200));
    const start = performance.now();
    expect(await client.serverReady({ timeoutMs: 1_000 })).toBe(true);
    expect(performance.now() - start).toBeLessThan(500);
    await inlineOutput(client, embed(['a query'], 'online_embedder_ensemble'));
    expect(done).toBe(false);
    await batch;
  });
});

describe('the model thread', () => {
  const files = join(cacheDir, 'models', 'all-MiniLM-L6-v2-int8');
  const data = { tokenizerPath: join(files, 'tokenizer.json'), maxTokens: 512, threads: 1 };

  it('fails what is open when it ends, and everything after', async () => {
    const thread = await OnnxThread.open({ ...data, modelPath: join(files, 'model.onnx') });
    const open = thread.embed(Array(64).fill('a text '.repeat(300)));
    await thread.close();
    await expect(open).rejects.toThrow('the model thread is not healthy');
    await expect(thread.embed(['x'])).rejects.toThrow('the model thread is not healthy');
    expect(thread.healthy).toBe(false);
  });

  it('says what is wrong with a file that is no model', async () => {
    const opening = OnnxThread.open({ ...data, modelPath: join(files, 'tokenizer.json') });
    await expect(opening).rejects.toMatchObject({ code: 'ENGINE_MODEL_INVALID' });
  });
});

describe('the stand-in reranker', () => {
  async function scores(query: string, passages: readonly string[]): Promise<number[]> {
    const bytes = await inlineOutput(running.client, {
      modelName: 'online_reranker_ensemble',
      inputs: [
        texts(
          passages.map(() => query),
          'QUERY',
        ),
        texts(passages, 'PASSAGE'),
      ],
      outputs: [{ name: 'SCORE' }],
    });
    const buffer = Buffer.from(bytes);
    return passages.map((_, i) => buffer.readFloatLE(i * 4));
  }

  const passages = [
    'The mitochondrion is the powerhouse of the cell.',
    'To bake bread, mix flour, water, salt and yeast, and let the dough rise.',
    'The stock exchange opens at nine in the morning.',
  ];

  it('scores the passage that answers the query highest', async () => {
    const [cell, bread, stocks] = await scores('how do I make bread dough', passages);
    expect(bread!).toBeGreaterThan(Math.max(cell!, stocks!) + 0.2);
  });

  it('still does when the query fills the whole window: a passage keeps its half (O08)', async () => {
    const [cell, bread, stocks] = await scores('how do I make bread dough with yeast and flour '.repeat(500), passages);
    expect(bread!).toBeGreaterThan(Math.max(cell!, stocks!) + 0.1);
  });

  it('says what its scores are', async () => {
    const description = await running.client.describeModel('online_reranker_ensemble', { timeoutMs: 5_000 });
    expect(description.parameters.scored_by).toContain('stand-in for a cross-encoder');
  });
});
