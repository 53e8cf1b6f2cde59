import { createHash } from 'node:crypto';
import { mkdir, mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type ExportOptions, exportTokenizer } from '../../../../scripts/export-tokenizer/model-folder.ts';
import { parseConfig } from '../../../../scripts/model-config/parse.ts';
import { readModelFile } from '../../../../scripts/onnx/model-file.ts';
import { asFile, smallTokenizer } from '../../../support/small-tokenizer.ts';

const quiet = () => undefined;

describe('the folder of a tokenizer model', () => {
  let folder: string;
  let options: ExportOptions;
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'rag-tokenizer-'));
    await writeFile(join(folder, 'library.so'), 'stands for the real library, which is only copied here');
    options = {
      modelType: 'embedding',
      source: { content: asFile(smallTokenizer()) },
      outputDir: join(folder, 'models/text_tokenizer'),
      backend: 'onnx',
      maxTokens: 512,
      maxBatch: 256,
      truncation: 'longest_first',
      library: async () => join(folder, 'library.so'),
    };
  });
  afterEach(() => rm(folder, { recursive: true, force: true }));

  it('holds graph, library with licence, config and a manifest with the sum of each, readable for the server’s user', async () => {
    await exportTokenizer(options, quiet);
    const output = options.outputDir;
    const manifest = JSON.parse(await readFile(join(output, 'manifest.json'), 'utf8'));
    const files = Object.keys(manifest.files);
    expect(files).toEqual([
      '1/model.onnx',
      'config.pbtxt',
      'libonnxruntime_extensions.so',
      'libonnxruntime_extensions.so.LICENSE',
    ]);
    for (const file of files) {
      const sum = createHash('sha256')
        .update(await readFile(join(output, file)))
        .digest('hex');
      expect(manifest.files[file]).toBe(sum);
    }
    expect((await stat(output)).mode & 0o777).toBe(0o755);
    expect(await readdir(join(folder, 'models'))).toEqual(['text_tokenizer']);
  });

  it('names the tensors of the graph in the config, and the library where the server finds it', async () => {
    await exportTokenizer({ ...options, modelType: 'reranker', maxBatch: 32, servedFrom: '/models/pairs/' }, quiet);
    const config = await readFile(join(options.outputDir, 'config.pbtxt'), 'utf8');
    const { graph } = await readModelFile(join(options.outputDir, '1/model.onnx'));
    const { config: read, problems } = parseConfig(config);
    expect(problems).toEqual([]);
    const named = [...read.input, ...read.output].map(({ name }) => name);
    expect(named).toEqual([...graph!.input, ...graph!.output].map(({ name }) => name));
    expect(named).toEqual(['QUERY', 'PASSAGE', 'INPUT_IDS', 'ATTENTION_MASK', 'TOKEN_TYPE_IDS']);
    expect(read).toMatchObject({
      ...{ name: 'text_tokenizer', backend: 'onnxruntime', maxBatchSize: 32 },
      modelOperations: { opLibraryFilename: ['/models/pairs/libonnxruntime_extensions.so'] },
    });
  });

  it('the python backend gets the tokenizer as it is, needs no library and takes what a graph refuses', async () => {
    const content = asFile({ ...smallTokenizer(), normalizer: { type: 'NFKC' } });
    const other = { ...options, source: { content } };
    await expect(exportTokenizer(other, quiet)).rejects.toThrow('its normalizer is NFKC');
    expect(await readdir(join(folder, 'models'))).toEqual([]);
    const library = () => Promise.reject(new Error('not asked for'));
    await exportTokenizer({ ...other, backend: 'python', library }, quiet);
    expect((await readdir(join(options.outputDir, '1'))).sort()).toEqual(['model.py', 'tokenizer.json']);
    expect((await readFile(join(options.outputDir, '1/tokenizer.json'))).equals(content)).toBe(true);
    const config = await readFile(join(options.outputDir, 'config.pbtxt'), 'utf8');
    expect(config).toContain('backend: "python"');
    expect(config).not.toContain('model_operations');
  });

  it('is replaced when this wrote it, and left alone when somebody else did', async () => {
    await exportTokenizer(options, quiet);
    await exportTokenizer({ ...options, maxTokens: 128 }, quiet);
    const manifest = JSON.parse(await readFile(join(options.outputDir, 'manifest.json'), 'utf8'));
    expect(manifest.max_tokens).toBe(128);
    const other = join(folder, 'models/other');
    await mkdir(other);
    await writeFile(join(other, 'keep.txt'), 'mine');
    await expect(exportTokenizer({ ...options, outputDir: other }, quiet)).rejects.toMatchObject({
      code: 'ARGUMENT_INVALID',
    });
    expect(await readdir(other)).toEqual(['keep.txt']);
  });

  it('what cannot be named is told by its option', async () => {
    const unnameable = exportTokenizer({ ...options, outputDir: join(folder, 'a b') }, quiet);
    await expect(unnameable).rejects.toThrow('--output-dir');
  });
});
