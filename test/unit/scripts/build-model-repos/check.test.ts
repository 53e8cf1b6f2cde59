/** Mistakes that people make in a config.pbtxt, each told by file and cause. */
import { createHash } from 'node:crypto';
import { cp, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { checkRepositories } from '../../../../scripts/build-model-repos/check/check-repository.ts';
import { pools } from '../../../../scripts/pools.ts';
import { writeSmallEncoder } from './small-encoder.ts';

const committed = join(import.meta.dirname, '../../../../model-repos/online_embedding');

let root: string;
beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), 'rag-check-'));
  await cp(committed, root, { recursive: true });
});
afterEach(() => rm(root, { recursive: true, force: true }));

async function edit(model: string, from: string | RegExp, to: string): Promise<void> {
  const path = join(root, model, 'config.pbtxt');
  const before = await readFile(path, 'utf8');
  const after = before.replace(from, to);
  expect(after).not.toBe(before);
  await writeFile(path, after);
}

const problems = async () => (await checkRepositories(root)).problems;

it('the committed repositories have no problem, and there is nothing else beside them', async () => {
  const all = join(committed, '..');
  expect(await checkRepositories(all)).toEqual({ models: 9, problems: [] });
  const folders = (await readdir(all, { withFileTypes: true })).filter((entry) => entry.isDirectory());
  const repositories = Object.values(pools).map(({ repository }) => repository);
  expect(folders.map(({ name }) => name).sort()).toEqual(repositories.sort());
});

describe('one configuration', () => {
  it.each([
    [
      'an unknown field, with its line',
      'text_tokenizer',
      'max_batch_size',
      'max_batchsize',
      /^text_tokenizer\/config\.pbtxt:6: max_batchsize is no field/,
    ],
    [
      'another name than the folder',
      'text_tokenizer',
      'name: "text_tokenizer"',
      'name: "tokenizer"',
      /name is "tokenizer", and the folder is text_tokenizer/,
    ],
    [
      'a tensor without its type',
      'dense_embedder_trt',
      'data_type: TYPE_FP16 ',
      '',
      /output EMBEDDING has no data_type/,
    ],
    [
      'a backend that is not there',
      'dense_embedder_trt',
      '"tensorrt"',
      '"tensorflow"',
      /backend "tensorflow" is none of/,
    ],
    ['a queue without bound', 'dense_embedder_trt', 'max_queue_size: 128', '', /max_queue_size is not set/],
    [
      'requests that wait for ever',
      'dense_embedder_trt',
      /default_timeout_microseconds: \d+/,
      '',
      /default_timeout_microseconds is not set/,
    ],
    [
      'a preferred batch that never comes',
      'dense_embedder_trt',
      '[ 8, 16, 32 ]',
      '[ 8, 64 ]',
      /preferred_batch_size 64 is not from 1 to/,
    ],
    ['GPUs of a CPU', 'text_tokenizer', 'kind: KIND_CPU', 'kind: KIND_CPU gpus: [ 0 ]', /KIND_CPU and names gpus/],
    [
      'a warm-up beyond the batch',
      'dense_embedder_trt',
      '    batch_size: 32',
      '    batch_size: 33',
      /warm-up 32 x 512: batch_size 33/,
    ],
    [
      'a warm-up of another type',
      'dense_embedder_trt',
      'value { data_type: TYPE_INT64 dims: [ 512 ]',
      'value { data_type: TYPE_INT32 dims: [ 512 ]',
      /warm-up 32 x 512: input_ids is TYPE_INT32, and the input TYPE_INT64/,
    ],
    [
      'an ensemble with instances',
      'online_embedder_ensemble',
      'max_batch_size: 32',
      'max_batch_size: 32 instance_group { }',
      /an ensemble has no instance_group/,
    ],
  ])('%s', async (_, model, from, to, message) => {
    await edit(model, from, to);
    expect(await problems()).toEqual(expect.arrayContaining([expect.stringMatching(message)]));
  });
});

describe('an ensemble and its models', () => {
  it.each([
    [
      'a model that is not there',
      /model_name: "text_tokenizer"/,
      'model_name: "tokenizer"',
      /model tokenizer is not in the repository/,
    ],
    ['an output that the model does not have', 'key: "INPUT_IDS"', 'key: "IDS"', /IDS is no output of text_tokenizer/],
    [
      'an input that is not mapped',
      /^.*key: "token_type_ids".*\n/m,
      '',
      /input token_type_ids of dense_embedder_trt is not mapped/,
    ],
    [
      'a tensor that nobody writes',
      'value: "input_ids" }\n      input_map',
      'value: "ids" }\n      input_map',
      /nothing writes tensor ids/,
    ],
    [
      'an output of another type',
      'data_type: TYPE_FP16',
      'data_type: TYPE_FP32',
      /the output of the ensemble is TYPE_FP32, and dense_embedder_trt gives TYPE_FP16/,
    ],
    [
      'an output of another size',
      'dims: [ 384 ]',
      'dims: [ 768 ]',
      /dims \[768\], and dense_embedder_trt gives \[384\]/,
    ],
    [
      'a batch that its models do not take',
      'max_batch_size: 32',
      'max_batch_size: 64',
      /max_batch_size 64 is more than the 32 of text_tokenizer/,
    ],
    [
      'two sources of a tensor',
      'value: "attention_mask" }\n      output_map',
      'value: "input_ids" }\n      output_map',
      /tensor input_ids has two sources/,
    ],
    [
      'a text that is not read',
      'input_map { key: "TEXT" value: "TEXT" }',
      '',
      /tensor TEXT of the ensemble is not read by any model/,
    ],
  ])('%s', async (_, from, to, message) => {
    await edit('online_embedder_ensemble', from, to);
    expect(await problems()).toEqual(expect.arrayContaining([expect.stringMatching(message)]));
  });
});

describe('a pool', () => {
  it.each([
    [
      'another delay',
      'dense_embedder_trt',
      'microseconds: 2000',
      'microseconds: 9000',
      /max_queue_delay_microseconds is 9000, and the pool's is 2000/,
    ],
    ['no fingerprint', 'online_embedder_ensemble', 'key: "fingerprint"', 'key: "print"', /fingerprint is missing/],
    [
      'rows cut elsewhere than the encoder ends',
      'text_tokenizer',
      'string_value: "512"',
      'string_value: "256"',
      /max_tokens is 256, and 512 in dense_embedder_trt/,
    ],
    [
      'a tokenizer of another model',
      'text_tokenizer',
      'string_value: "da0e',
      'string_value: "0000',
      /tokenizer_sha256 is 0000\w+, and da0e/,
    ],
    [
      'an ensemble that names another model',
      'online_embedder_ensemble',
      'string_value: "759c',
      'string_value: "0000',
      /source_sha256 is 0000/,
    ],
  ])('%s', async (_, model, from, to, message) => {
    await edit(model, from, to);
    expect(await problems()).toEqual([expect.stringMatching(message)]);
  });
});

describe('the files beside it', () => {
  const engine = 'stands for an engine';
  const manifest = {
    profile: 'online_embed',
    inputs: ['input_ids', 'attention_mask', 'token_type_ids'],
    shapes: { min: { batch: 1, tokens: 1 }, opt: { batch: 8, tokens: 64 }, max: { batch: 32, tokens: 512 } },
    fingerprint: {},
    engine: { sha256: createHash('sha256').update(engine).digest('hex') },
    tensorrt: '10.3.0',
    gpu: { name: 'NVIDIA L4' },
  };

  async function serve(told: object | undefined): Promise<void> {
    const models = {
      text_tokenizer: 'model.onnx',
      dense_embedder_trt: 'model.plan',
      online_embedder_ensemble: undefined,
    };
    for (const [model, file] of Object.entries(models)) {
      await mkdir(join(root, model, '1'));
      if (file === 'model.plan') await writeFile(join(root, model, '1', file), engine);
    }
    await writeSmallEncoder(join(root, 'text_tokenizer/1/model.onnx'), { inputs: ['TEXT'] });
    if (told) await writeFile(join(root, 'dense_embedder_trt/1/model.plan.manifest.json'), JSON.stringify(told));
  }
  const ofEngine = async () => (await problems()).filter((line) => line.startsWith('dense_embedder_trt'));

  it('an engine that was built for the pool is fine, and one without a manifest is not', async () => {
    await serve(manifest);
    expect(await ofEngine()).toEqual([]);
    await rm(join(root, 'dense_embedder_trt/1/model.plan.manifest.json'));
    expect(await ofEngine()).toEqual([expect.stringMatching(/manifest\.json is not beside the engine/)]);
  });

  it.each([
    [
      'a smaller batch',
      { shapes: { ...manifest.shapes, max: { batch: 16, tokens: 512 } } },
      /max_batch_size is 32, and the engine's profile takes 16/,
    ],
    [
      'shorter rows',
      { shapes: { ...manifest.shapes, max: { batch: 32, tokens: 256 } } },
      /max_tokens is 512, and the engine's profile takes 256/,
    ],
    ['no short texts', { shapes: { ...manifest.shapes, min: { batch: 1, tokens: 16 } } }, /profile begins at 1 x 16/],
    [
      'fewer inputs',
      { inputs: ['input_ids', 'attention_mask'] },
      /inputs are .*, and the engine's input_ids, attention_mask/,
    ],
    ['another file', { engine: { sha256: '0'.repeat(64) } }, /not the engine of its manifest/],
    ['a manifest that cannot be read', { shapes: 1 }, /is no manifest of an engine \(shapes\)/],
  ])('an engine for %s', async (_, change, message) => {
    await serve({ ...manifest, ...change });
    expect(await ofEngine()).toEqual(expect.arrayContaining([expect.stringMatching(message)]));
  });

  it('an ONNX model with other tensors, and models that are not there, are told', async () => {
    await serve(manifest);
    await rm(join(root, 'online_embedder_ensemble/1'), { recursive: true });
    await rm(join(root, 'dense_embedder_trt/1/model.plan'));
    expect(await problems()).toEqual([
      "dense_embedder_trt/config.pbtxt: model.plan is not in its version's folder",
      'online_embedder_ensemble/config.pbtxt: there is no version folder (1)',
      'text_tokenizer/config.pbtxt: input TEXT is TYPE_STRING, and TYPE_INT64 in model.onnx',
      'text_tokenizer/config.pbtxt: output INPUT_IDS is not in model.onnx, which has EMBEDDING',
      'text_tokenizer/config.pbtxt: output ATTENTION_MASK is not in model.onnx, which has EMBEDDING',
      'text_tokenizer/config.pbtxt: output TOKEN_TYPE_IDS is not in model.onnx, which has EMBEDDING',
    ]);
  });

  it('a folder without models is not a repository without problems', async () => {
    await expect(checkRepositories(join(root, 'nowhere'))).rejects.toMatchObject({ code: 'ARGUMENT_INVALID' });
    await mkdir(join(root, 'empty'));
    await expect(checkRepositories(join(root, 'empty'))).rejects.toThrow('holds no model');
  });
});
