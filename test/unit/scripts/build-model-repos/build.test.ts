/** From files to a repository, and what is refused before anything is written. */
import { createHash } from 'node:crypto';
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { buildRepository } from '../../../../scripts/build-model-repos/build.ts';
import { checkRepositories } from '../../../../scripts/build-model-repos/check/check-repository.ts';
import { buildsOf, type Flags } from '../../../../scripts/build-model-repos/command.ts';
import { parseConfig } from '../../../../scripts/model-config/parse.ts';
import { asFile, smallTokenizer } from '../../../support/small-tokenizer.ts';
import { writeSmallEncoder } from './small-encoder.ts';

const sha256 = (content: string | Buffer) => createHash('sha256').update(content).digest('hex');
const tokenizer = asFile(smallTokenizer());
const properties = {
  ...{ model: 'owner/small', source_sha256: 'a'.repeat(64), tokenizer_sha256: sha256(tokenizer) },
  ...{ pooling: 'cls', normalize: 'false', dims: '8', dtype: 'FP32' },
};

let folder: string;
let flags: Flags;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'rag-build-'));
  await writeFile(join(folder, 'tokenizer.json'), tokenizer);
  await writeSmallEncoder(join(folder, 'embedder.onnx'), { properties });
  flags = {
    ...{ pool: 'online_embed', runtime: 'python', truncation: 'longest_first' },
    ...{ gpus: [], instances: 1, cudaGraphs: [], outputDir: join(folder, 'out') },
    ...{ encoder: join(folder, 'embedder.onnx'), tokenizerDir: folder },
  };
});
afterEach(() => rm(folder, { recursive: true, force: true }));

async function build(change: Partial<Flags> = {}): Promise<void> {
  for (const options of buildsOf({ ...flags, ...change })) await buildRepository(options, () => undefined);
}

async function configOf(model: string, repository = 'online_embedding') {
  return parseConfig(await readFile(join(folder, 'out', repository, model, 'config.pbtxt'), 'utf8')).config;
}

describe('a repository from a graph and a tokenizer.json', () => {
  it('is complete, fits together, and says which model it is', async () => {
    await build();
    const out = join(folder, 'out');
    expect(await readdir(out)).toEqual(['online_embedding']);
    expect((await readdir(join(out, 'online_embedding/dense_embedder_trt/1'))).sort()).toEqual([
      'model.onnx',
      'model.py',
    ]);
    expect(await checkRepositories(out)).toEqual({ models: 3, problems: [] });
    const { parameters, output } = await configOf('online_embedder_ensemble');
    const sum = sha256(tokenizer).slice(0, 12);
    expect(parameters.fingerprint!.stringValue).toBe(`small@aaaaaaaaaaaa/${sum}-512/cls/FP16/8`);
    expect(output).toMatchObject([{ name: 'EMBEDDING', dims: [8n] }]);
    // The graph has no token types, so nothing feeds them.
    expect((await configOf('dense_embedder_trt')).input.map(({ name }) => name)).toEqual([
      'input_ids',
      'attention_mask',
    ]);
  });

  it('takes rows no longer than the graph has positions for', async () => {
    await writeSmallEncoder(join(folder, 'embedder.onnx'), { properties: { ...properties, positions: '128' } });
    await expect(build({ maxTokens: 256 })).rejects.toThrow('--max-tokens 256 is more than the 128');
    await build();
    expect((await configOf('text_tokenizer')).parameters.max_tokens!.stringValue).toBe('128');
  });

  it("the tokenizer's manifest has the sum of the configuration that is there", async () => {
    await build();
    const model = join(folder, 'out/online_embedding/text_tokenizer');
    const manifest = JSON.parse(await readFile(join(model, 'manifest.json'), 'utf8'));
    expect(manifest.files['config.pbtxt']).toBe(sha256(await readFile(join(model, 'config.pbtxt'))));
  });

  it('replaces what it wrote, keeps other models, and does not touch a folder that is no model', async () => {
    await build();
    const repository = join(folder, 'out/online_embedding');
    await mkdir(join(repository, 'other'));
    await build({ maxTokens: 256, fingerprint: 'mine' });
    expect((await readdir(repository)).sort()).toEqual([
      'dense_embedder_trt',
      'online_embedder_ensemble',
      'other',
      'text_tokenizer',
    ]);
    expect((await configOf('online_embedder_ensemble')).parameters).toMatchObject({
      fingerprint: { stringValue: 'mine' },
      max_tokens: { stringValue: '256' },
    });
    await rm(join(repository, 'text_tokenizer/config.pbtxt'));
    await expect(build()).rejects.toThrow('so it is no model');
  });

  it.each([
    ['an encoder of another pool', { pool: 'online_rerank' }, 'it has no output SCORE'],
    ['a graph as an engine', { runtime: 'trt' }, '--runtime trt serves a .plan'],
    ['a file that is not there', { encoder: '/nowhere/model.onnx' }, 'is not there'],
    ['one of two', { tokenizerDir: undefined }, '--encoder and --tokenizer-dir go together'],
    ['an encoder for every pool', { pool: 'all' }, '--encoder belongs to one pool'],
    ['a GPU for the CPU form', { device: 'gpu' }, '--runtime python is the form for a CPU'],
    ['CUDA graphs of a CPU', { cudaGraphs: [{ batch: 1, tokens: 8 }] }, '--cuda-graphs is of --runtime trt'],
    ['no output', { outputDir: undefined }, '--output-dir is missing'],
  ])('%s is refused, and nothing is written', async (_, change, message) => {
    await expect(build(change as Partial<Flags>)).rejects.toThrow(message);
    expect(await readdir(join(folder, 'out')).catch(() => [])).toEqual([]);
  });
});

describe('a repository from an engine', () => {
  const shapes = { min: { batch: 1, tokens: 1 }, opt: { batch: 8, tokens: 64 }, max: { batch: 32, tokens: 128 } };
  const manifest = {
    ...{ profile: 'online_embed', inputs: ['input_ids', 'attention_mask'], shapes, tensorrt: '10.3.0' },
    ...{
      fingerprint: { ...properties, dtype: 'FP16' },
      engine: { sha256: sha256('engine') },
      gpu: { name: 'NVIDIA L4' },
    },
  };
  const engine = () => ({ runtime: 'trt', encoder: join(folder, 'e.plan'), tokenizerBackend: 'python' }) as const;

  it('takes tensors, lengths and identity from the manifest, which travels with the engine', async () => {
    await writeFile(join(folder, 'e.plan'), 'engine');
    await expect(build(engine())).rejects.toThrow('e.plan.manifest.json is not there');
    await writeFile(join(folder, 'e.plan.manifest.json'), JSON.stringify(manifest));
    await build({ ...engine(), cudaGraphs: [{ batch: 1, tokens: 16 }] });
    const encoder = await configOf('dense_embedder_trt');
    expect(encoder).toMatchObject({
      ...{ backend: 'tensorrt', parameters: { max_tokens: { stringValue: '128' }, dtype: { stringValue: 'FP16' } } },
      optimization: { cuda: { graphs: true, graphSpec: [{ batchSize: 1, input: { input_ids: { dim: [16n] } } }] } },
    });
    const version = await readdir(join(folder, 'out/online_embedding/dense_embedder_trt/1'));
    expect(version.sort()).toEqual(['model.plan', 'model.plan.manifest.json']);
  });

  it('of another pool is refused', async () => {
    await writeFile(join(folder, 'e.plan'), 'engine');
    const wide = { ...manifest, shapes: { ...shapes, max: { batch: 256, tokens: 512 } } };
    await writeFile(join(folder, 'e.plan.manifest.json'), JSON.stringify(wide));
    await expect(build(engine())).rejects.toThrow(
      /would not serve:\n.*max_batch_size is 32, and the engine's profile takes 256/,
    );
    expect(await readdir(join(folder, 'out'))).toEqual([]);
  });
});
