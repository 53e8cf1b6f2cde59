/** The golden file of a repository: whose it is, what is filled in, and that one of another model does not get there. */
import { createHash } from 'node:crypto';
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { buildRepository } from '../../../../scripts/build-model-repos/build.ts';
import { buildsOf, type Flags } from '../../../../scripts/build-model-repos/command.ts';
import { goldenOfPipeline } from '../../../../scripts/build-model-repos/golden.ts';
import { fingerprintOf, identityOf } from '../../../../scripts/model-config/identity.ts';
import { parseConfig } from '../../../../scripts/model-config/parse.ts';
import { formatGolden, type GoldenEmbedder, type GoldenReranker } from '../../../../src/golden/golden-file.ts';
import { readGolden } from '../../../../workers/golden-path.ts';
import { asFile, smallTokenizer } from '../../../support/small-tokenizer.ts';
import { writeSmallEncoder } from './small-encoder.ts';

const properties = { model: 'owner/small', source_sha256: 'a'.repeat(64), pooling: 'cls', normalize: 'false' };
const identity = identityOf(properties, { dtype: 'FP16', dims: 8 });
const pipeline = { identity, maxTokens: 512, fingerprint: fingerprintOf(identity, 512) };

function golden(change: Partial<GoldenEmbedder> = {}): GoldenEmbedder {
  const row = (label: string, tokens: number) => ({
    label,
    text: label,
    tokens,
    vector: new Float32Array(8).fill(0.5),
  });
  return {
    ...{ kind: 'embedder', dims: 8, dtype: 'FP32', fingerprint: null, maxTokens: 512, precision: 'FP32' },
    producer: { kind: 'reference', program: 'export-onnx', version: '1', model: 'owner/small', properties },
    rows: [row('short', 9), row('long', 400), row('longer', 900)],
    ...change,
  };
}

describe('the golden file of a pipeline', () => {
  it('has its fingerprint and the type that it answers in', () => {
    const { fingerprint, dtype, rows } = goldenOfPipeline(golden(), pipeline, 'x') as GoldenEmbedder;
    expect({ fingerprint, dtype, rows: rows.length }).toEqual({
      ...{ fingerprint: 'small@aaaaaaaaaaaa/unknown-512/cls/FP16/8', dtype: 'FP16', rows: 3 },
    });
  });

  it.each([
    ['shorter', 128, 512, ['short']],
    ['longer', 1_024, 512, ['short', 'long']],
    ['as long', 512, 512, ['short', 'long', 'longer']],
    ['no other that is known', 128, null, ['short', 'long', 'longer']],
  ])('with a window that is %s it keeps the texts that both windows cut alike', (_, served, reference, kept) => {
    const given = goldenOfPipeline(golden({ maxTokens: reference }), { ...pipeline, maxTokens: served }, 'x');
    expect(given.rows.map(({ label }) => label)).toEqual(kept);
    expect(given.maxTokens).toBe(served);
  });

  it.each([
    ['another source', { source_sha256: 'b'.repeat(64) }],
    ['another pooling', { pooling: 'mean' }],
    ['another tokenizer', { tokenizer_sha256: 'c'.repeat(64) }],
  ])('of %s is refused', (_, change) => {
    const other = golden({ producer: { ...golden().producer, properties: { ...properties, ...change } } });
    expect(() => goldenOfPipeline(other, pipeline, 'x.golden.json')).toThrow('x.golden.json is of another model');
  });

  it('of other dimensions is refused', () => {
    expect(() => goldenOfPipeline(golden({ dims: 4 }), pipeline, 'x')).toThrow('is of another model');
  });

  it('taken from a live model is known by its fingerprint', () => {
    const producer = { ...golden().producer, kind: 'endpoint' as const, properties: {} };
    expect(() => goldenOfPipeline(golden({ producer, fingerprint: 'other' }), pipeline, 'x')).toThrow('other');
    const own = goldenOfPipeline(golden({ producer, fingerprint: pipeline.fingerprint }), pipeline, 'x');
    expect(own.fingerprint).toBe(pipeline.fingerprint);
  });

  it('of a reranker keeps its scores', () => {
    const scored = { model: 'owner/small', source_sha256: 'a'.repeat(64), label: '0' };
    const score = identityOf(scored, { dtype: 'FP32', dims: 1 });
    const { dims: _dims, dtype: _dtype, ...about } = golden();
    const pairs = [{ label: 'a', query: 'q', passage: 'p', tokens: 5, score: 0.25 }];
    const producer = { ...about.producer, properties: scored };
    const reranker: GoldenReranker = { ...about, producer, kind: 'reranker', rows: pairs };
    const given = goldenOfPipeline(reranker, { identity: score, maxTokens: 2_048, fingerprint: 'mine' }, 'x');
    expect(given).toMatchObject({ fingerprint: 'mine', maxTokens: 2_048, rows: pairs });
  });
});

describe('in a repository', () => {
  let folder: string;
  let flags: Flags;
  const said: string[] = [];
  beforeEach(async () => {
    said.length = 0;
    folder = await mkdtemp(join(tmpdir(), 'rag-golden-'));
    await writeFile(join(folder, 'tokenizer.json'), asFile(smallTokenizer()));
    await writeSmallEncoder(join(folder, 'embedder.onnx'), { properties });
    flags = {
      ...{ pool: 'online_embed', runtime: 'python', truncation: 'longest_first' },
      ...{ gpus: [], instances: 1, cudaGraphs: [], outputDir: join(folder, 'out') },
      ...{ encoder: join(folder, 'embedder.onnx'), tokenizerDir: folder },
    };
  });
  afterEach(() => rm(folder, { recursive: true, force: true }));

  const repository = () => join(folder, 'out/online_embedding');
  async function build(change: Partial<Flags> = {}): Promise<void> {
    for (const options of buildsOf({ ...flags, ...change })) await buildRepository(options, (line) => said.push(line));
  }
  async function fingerprintServed(): Promise<string | undefined> {
    const config = await readFile(join(repository(), 'online_embedder_ensemble/config.pbtxt'), 'utf8');
    return parseConfig(config).config.parameters.fingerprint?.stringValue;
  }

  it('it is the one beside the encoder, found in the folder, with the fingerprint of the configuration', async () => {
    const sum = createHash('sha256').update(asFile(smallTokenizer())).digest('hex');
    const named = { ...properties, tokenizer_sha256: sum };
    await writeSmallEncoder(join(folder, 'embedder.onnx'), { properties: named });
    const given = golden({ producer: { ...golden().producer, properties: named } });
    await writeFile(join(folder, 'embedder.onnx.golden.json'), formatGolden(given));
    await build();
    expect((await readGolden(repository())).fingerprint).toBe(await fingerprintServed());
    await build({ fingerprint: 'mine' });
    expect((await readGolden(repository())).fingerprint).toBe('mine');
    expect(await fingerprintServed()).toBe('mine');

    // Another build without one: the vectors of before are no reference.
    await rm(join(folder, 'embedder.onnx.golden.json'));
    await build();
    expect(await readdir(repository())).not.toContain('golden.json');
    expect(said.at(-1)).toContain('no golden file: --golden names the one that export-onnx wrote');
  });

  it('one of another model is refused, and what is there stays', async () => {
    const other = join(folder, 'other.golden.json');
    await writeFile(other, formatGolden(golden()));
    await build();
    await expect(build({ golden: other })).rejects.toThrow('is of another model');
    await expect(build({ golden: join(folder, 'nowhere') })).rejects.toThrow('nowhere is not there');
    const { encoder: _encoder, tokenizerDir: _tokenizer, ...alone } = flags;
    expect(() => buildsOf({ ...alone, golden: other })).toThrow('--golden belongs to an --encoder');
    expect((await readdir(repository())).sort()).toEqual([
      'dense_embedder_trt',
      'online_embedder_ensemble',
      'text_tokenizer',
    ]);
  });
});
