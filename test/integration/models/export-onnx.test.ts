/**
 * The program from its command line to the file, with a real model: all-MiniLM-L6-v2 (int8 weights) out of a hub on this
 * machine. What the exported graph says is compared with what the embedded engine makes of the same model.
 */
import { spawn } from 'node:child_process';
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { InferenceSession, Tensor } from 'onnxruntime-node';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { cacheRoot } from '../../../scripts/stack/cache.ts';
import { type ModelFiles, resolveModel } from '../../../src/engine/model-source.ts';
import { OnnxModel } from '../../../src/engine/onnx-model.ts';
import { TextTokenizer } from '../../../src/engine/tokenizer.ts';
import { parseGolden } from '../../../src/golden/golden-file.ts';
import { decodeFp16 } from '../../../src/kserve/fp16.ts';
import { COMMIT, type FakeHub, startHub } from '../../unit/scripts/export-onnx/hub-server.ts';
import { tinyEncoder, writeTinyModel } from '../../unit/scripts/export-onnx/tiny-encoder.ts';

const PROGRAM = join(import.meta.dirname, '../../../dist/scripts/export-onnx/main.js');
/** Shorter than the model's own window: the whole of it takes a minute here, and the unit tests try every length. */
const WINDOW = 64;
const TEXTS = [
  '',
  'ice',
  'Größere Häfen frieren selten zu.',
  'The ferries stop when the harbour freezes over, and nobody minds.',
];

let folder: string;
let files: ModelFiles;
let hub: FakeHub;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'rag-export-program-'));
  files = await resolveModel({ cacheDir: cacheRoot() });
  hub = await startHub(
    new Map([
      ['onnx/model.onnx', await readFile(files.modelPath)],
      ['tokenizer.json', await readFile(files.tokenizerPath)],
      ['config.json', Buffer.from(JSON.stringify({ hidden_size: 384, max_position_embeddings: WINDOW }))],
      ['modules.json', Buffer.from(JSON.stringify([{ type: 'sentence_transformers.models.Normalize' }]))],
    ]),
  );
});
afterAll(async () => {
  await hub.close();
  await rm(folder, { recursive: true, force: true });
});

async function program(...args: readonly string[]): Promise<{ code: number | null; stderr: string; stdout: string }> {
  const env = {
    ...process.env,
    HF_ENDPOINT: hub.endpoint,
    HF_TOKEN: 'hf_secret',
    RAG_SERVING_CACHE_DIR: join(folder, 'cache'),
  };
  const child = spawn(process.execPath, [PROGRAM, ...args], { env, stdio: ['ignore', 'pipe', 'pipe'] });
  let [stdout, stderr] = ['', ''];
  child.stdout.on('data', (chunk) => (stdout += chunk));
  child.stderr.on('data', (chunk) => (stderr += chunk));
  const code = await new Promise<number | null>((resolve) => child.once('close', resolve));
  return { code, stdout, stderr };
}

describe('export-onnx', () => {
  it('a real embedder from the hub is FP16, pooled, and says what the engine says', async () => {
    const out = join(folder, 'embedder.onnx');
    const args = ['--model-type', 'embedding', '--model', 'owner/minilm', '--fp16', '--output-path', out];
    const { code, stderr } = await program(...args);
    expect(stderr).toContain(`--revision ${COMMIT} pins it`);
    expect(stderr).not.toContain('hf_secret');
    expect({ code, stderr: code === 0 ? '' : stderr }).toEqual({ code: 0, stderr: '' });

    const report = JSON.parse(await readFile(`${out}.parity.json`, 'utf8'));
    expect(report).toMatchObject({ accepted: true, properties: { revision: COMMIT, dims: '384', pooling: 'mean' } });
    expect(report.half.float32Nodes).toMatchObject({ LayerNormalization: 13, Softmax: 6 });

    const golden = parseGolden(await readFile(`${out}.golden.json`, 'utf8'), 'golden file');
    const producer = { kind: 'reference', model: 'owner/minilm', properties: { revision: COMMIT } };
    expect(golden).toMatchObject({ kind: 'embedder', dims: 384, dtype: 'FP16', maxTokens: WINDOW, producer });

    const engine = await OnnxModel.open({ ...files, maxTokens: 512, threads: 1 });
    const wanted = await engine.embed(TEXTS);
    await engine.close();
    const given = await embed(out, TEXTS);
    expect(given.length).toBe(wanted.length);
    for (let row = 0; row < TEXTS.length; row++) {
      const slice = (values: Float32Array) => values.subarray(row * 384, (row + 1) * 384);
      const dot = slice(wanted).reduce((sum, value, i) => sum + value * slice(given)[i]!, 0);
      expect(dot).toBeGreaterThan(0.999);
    }
  });

  it('a model that overflows FP16 is refused with exit code 3, and only the report is left (X01)', async () => {
    const model = join(folder, 'overflowing');
    await writeTinyModel(model, tinyEncoder({ gain: 1e5 }), { max_position_embeddings: WINDOW });
    const args = [
      '--model-type',
      'embedding',
      '--model',
      model,
      '--output-path',
      join(folder, 'refused', 'model.onnx'),
    ];
    const { code, stderr } = await program(...args, '--fp16');
    expect(stderr).toMatch(/last_hidden_state reaches \S+, over FP16's 65504/);
    expect(code).toBe(3);
    expect(await readdir(join(folder, 'refused'))).toEqual(['model.onnx.parity.json']);
  });

  it('wrong usage is exit code 2, and --help tells the options', async () => {
    expect(await program('--model-type', 'generator')).toMatchObject({ code: 2 });
    const missing = await program('--model-type', 'embedding', '--model', './nowhere', '--output-path', 'x.onnx');
    expect(missing).toMatchObject({ code: 2, stderr: expect.stringContaining('nowhere is no folder') });
    const help = await program('--help');
    expect(help.code).toBe(0);
    for (const option of ['--model-type', '--pooling', '--matryoshka', '--revision', '--fp16', 'HF_TOKEN']) {
      expect(help.stdout).toContain(option);
    }
  });
});

async function embed(path: string, texts: readonly string[]): Promise<Float32Array> {
  const tokenizer = new TextTokenizer(JSON.parse(await readFile(files.tokenizerPath, 'utf8')));
  const rows = texts.map((text) => tokenizer.encode(text, 512));
  const width = Math.max(...rows.map((row) => row.length));
  const tensor = (value: (row: readonly number[], at: number) => number) => {
    const values = rows.flatMap((row) => Array.from({ length: width }, (_, at) => BigInt(value(row, at))));
    return new Tensor('int64', BigInt64Array.from(values), [rows.length, width]);
  };
  const session = await InferenceSession.create(path, { logSeverityLevel: 3 });
  const outputs = await session.run({
    input_ids: tensor((row, at) => row[at] ?? tokenizer.padId),
    attention_mask: tensor((row, at) => (at < row.length ? 1 : 0)),
    token_type_ids: tensor(() => 0),
  });
  await session.release();
  expect(Object.keys(outputs)).toEqual(['EMBEDDING']);
  const { buffer, byteOffset, byteLength } = outputs.EMBEDDING!.data as Uint16Array;
  return decodeFp16(new Uint8Array(buffer, byteOffset, byteLength));
}
