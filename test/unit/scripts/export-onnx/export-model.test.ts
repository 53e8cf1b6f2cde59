/** The export of a small encoder from its folder to the file, with the gate that may refuse it. */
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { InferenceSession, Tensor } from 'onnxruntime-node';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type ExportRequest, exportModel } from '../../../../scripts/export-onnx/export-model.ts';
import type { ModelProto } from '../../../../scripts/onnx/gen/onnx_pb.ts';
import { readModelFile } from '../../../../scripts/onnx/model-file.ts';
import { DataType } from '../../../../scripts/onnx/tensors.ts';
import { decodeFp16 } from '../../../../src/kserve/fp16.ts';
import { TINY_DIMS, tinyEncoder, writeTinyModel } from './tiny-encoder.ts';

let folder: string;
let out: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'rag-export-'));
  out = join(folder, 'out', 'model.onnx');
});
afterEach(() => rm(folder, { recursive: true, force: true }));

async function exported(model: ModelProto, request: Partial<ExportRequest>, config = SHORT) {
  await writeTinyModel(join(folder, 'in'), model, config);
  const whole: ExportRequest = {
    ...{ type: 'embedding' as const, model: 'tiny', folder: join(folder, 'in'), graph: 'model.onnx', outputPath: out },
    ...{ head: { fp16: false }, threads: 1 },
    ...request,
  };
  return await exportModel(whole, () => {}, new AbortController().signal);
}

/** A short window makes the comparison quick where it is not what is tested. */
const SHORT: Readonly<Record<string, unknown>> = { max_position_embeddings: 64 };

/** Rows of ids, padded with zeros; a zero is padding. */
async function run(rows: readonly (readonly number[])[]) {
  const session = await InferenceSession.create(out, { logSeverityLevel: 3 });
  const width = Math.max(...rows.map((row) => row.length));
  const ids = rows.flatMap((row) => [...row, ...Array<number>(width - row.length).fill(0)]);
  const feed = (values: readonly number[]) =>
    new Tensor('int64', BigInt64Array.from(values, BigInt), [rows.length, width]);
  const given = { input_ids: feed(ids), attention_mask: feed(ids.map((id) => (id === 0 ? 0 : 1))) };
  const [name, tensor] = Object.entries(await session.run(given))[0]!;
  const { data } = tensor as Tensor;
  const values =
    tensor.type === 'float16'
      ? decodeFp16(new Uint8Array((data as Uint16Array).slice().buffer))
      : (data as Float32Array);
  return { name, type: tensor.type, dims: tensor.dims, values };
}

const cosine = (a: Float32Array, b: Float32Array) => {
  const dot = (x: Float32Array, y: Float32Array) => x.reduce((sum, value, i) => sum + value * y[i]!, 0);
  return dot(a, b) / Math.sqrt(dot(a, a) * dot(b, b));
};

describe('export of an embedder', () => {
  for (const opset of [11, 13, 17, 18]) {
    it(`writes one FP16 EMBEDDING of length 1 at opset ${opset}`, async () => {
      const report = await exported(tinyEncoder({ opset }), { head: { fp16: true } });
      expect(report.gate.cases.filter(({ faults }) => faults.length > 0)).toEqual([]);
      expect(report).toMatchObject({ accepted: true, properties: { pooling: 'mean', dims: '12', dtype: 'FP16' } });
      const { name, type, dims, values } = await run([[2, 10, 11, 3]]);
      expect({ name, type, dims }).toEqual({ name: 'EMBEDDING', type: 'float16', dims: [1, TINY_DIMS] });
      expect(Math.hypot(...values)).toBeCloseTo(1, 2);
    });
  }

  it('gives FP32 without --fp16, the dimensions asked for, and no unit length with normalisation off', async () => {
    const report = await exported(tinyEncoder(), { head: { fp16: false, matryoshka: 5, normalize: false } });
    expect(report.warnings.join()).toContain('RAG_SERVING_VECTOR_NORM');
    const { type, dims, values } = await run([[2, 10, 3]]);
    expect({ type, dims }).toEqual({ type: 'float32', dims: [1, 5] });
    expect(Math.abs(Math.hypot(...values) - 1)).toBeGreaterThan(0.01);
  });

  it('cuts before it normalises', async () => {
    await exported(tinyEncoder(), { head: { fp16: false, matryoshka: 5 } });
    expect(Math.hypot(...(await run([[2, 10, 3]])).values)).toBeCloseTo(1, 5);
  });

  it('padding does not leak: a short text in a batch with a long one is as it is alone', async () => {
    await exported(tinyEncoder(), { head: { fp16: true } });
    const short = [2, 20, 3];
    const long = [2, ...Array.from({ length: 398 }, (_, i) => 4 + (i % 60)), 3];
    const alone = await run([short]);
    const together = await run([short, long]);
    expect(cosine(alone.values, together.values.subarray(0, TINY_DIMS))).toBeGreaterThan(0.9999);
  });

  it('a row without a token gives zeros, and its neighbours do not notice', async () => {
    await exported(tinyEncoder(), { head: { fp16: true } });
    const { values } = await run([
      [0, 0, 0],
      [2, 10, 3],
    ]);
    expect([...values.subarray(0, TINY_DIMS)]).toEqual(Array<number>(TINY_DIMS).fill(0));
    expect(Math.hypot(...values.subarray(TINY_DIMS))).toBeCloseTo(1, 2);
  });

  it('inputs of other names and of int32 become int64 under the known names', async () => {
    const names = { input_ids: 'input_ids', attention_mask: 'input_mask' };
    await exported(tinyEncoder({ names, inputType: DataType.INT32 }), { head: { fp16: true } });
    const { graph } = await readModelFile(out);
    expect(graph?.input.map(({ name }) => name)).toEqual(['input_ids', 'attention_mask']);
    expect((await run([[2, 10, 3]])).dims).toEqual([1, TINY_DIMS]);
  });

  it('the model says where it comes from', async () => {
    await exported(tinyEncoder(), { head: { fp16: false }, revision: 'a'.repeat(40) });
    const props = Object.fromEntries((await readModelFile(out)).metadataProps.map(({ key, value }) => [key, value]));
    expect(props).toMatchObject({
      'rag_serving.model': 'tiny',
      'rag_serving.revision': 'a'.repeat(40),
      'rag_serving.tokenizer_sha256': expect.stringMatching(/^[0-9a-f]{64}$/),
    });
  });
});

describe('the gate', () => {
  it('refuses a model that overflows FP16, and leaves nothing', async () => {
    const report = await exported(tinyEncoder({ gain: 1e5 }), { head: { fp16: true } });
    expect(report).toMatchObject({ accepted: false, files: {} });
    expect(report.gate.overflows.map(({ value }) => value)).toContain('last_hidden_state');
    expect(await readdir(join(folder, 'out'))).toEqual([]);
  });

  it('takes the same model in FP32', async () => {
    const report = await exported(tinyEncoder({ gain: 1e5 }), { head: { fp16: false } });
    expect(report.accepted).toBe(true);
  });

  it('tries 8 to 512 tokens, the empty text and a long one, alone and 64 at once', async () => {
    const { gate } = await exported(tinyEncoder(), { head: { fp16: true } }, { max_position_embeddings: 512 });
    const names = gate.cases.map(({ name }) => name);
    expect(names).toEqual(
      expect.arrayContaining(['8 tokens', '512 tokens', 'empty text', 'text longer than the window']),
    );
    expect(gate.cases.map(({ rows }) => rows)).toEqual([...Array<number>(10).fill(1), 64]);
  });

  for (const mask of [-3.4028234663852886e38, -1e9, -65504, Number.NEGATIVE_INFINITY]) {
    it(`a mask of ${mask} is no overflow in FP16`, async () => {
      // −Infinity × 0 is NaN in FP32 too, so such a model is refused for what it is.
      const report = await exported(tinyEncoder({ mask }), { head: { fp16: true } });
      expect(report.gate.overflows).toEqual([]);
      expect(report.accepted).toBe(mask !== Number.NEGATIVE_INFINITY);
    });
  }

  it('stops when it is told to, and leaves nothing', async () => {
    await writeTinyModel(join(folder, 'in'), tinyEncoder());
    const request = { type: 'embedding', model: 'tiny', folder: join(folder, 'in'), graph: 'model.onnx' } as const;
    const whole = { ...request, outputPath: out, head: { fp16: false }, threads: 1 };
    await expect(exportModel(whole, () => {}, AbortSignal.abort(new Error('enough')))).rejects.toThrow('enough');
    expect(await readdir(join(folder, 'out'))).toEqual([]);
  });
});

describe('export of a reranker', () => {
  it('one label becomes a SCORE in FP32 through the sigmoid', async () => {
    const report = await exported(tinyEncoder({ labels: 1 }), { type: 'reranker', head: { fp16: true } });
    expect(report).toMatchObject({ accepted: true, properties: { activation: 'sigmoid', label: '0' } });
    const { name, type, dims, values } = await run([
      [2, 10, 3],
      [2, 40, 3],
    ]);
    expect({ name, type, dims }).toEqual({ name: 'SCORE', type: 'float32', dims: [2, 1] });
    for (const value of values) expect(value > 0 && value < 1).toBe(true);
  });

  it('the raw logit where the config says Identity', async () => {
    const config = { ...SHORT, sentence_transformers: { activation_fn: 'torch.nn.modules.linear.Identity' } };
    const report = await exported(tinyEncoder({ labels: 1 }), { type: 'reranker' }, config);
    expect(report).toMatchObject({ accepted: true, properties: { activation: 'none' } });
  });

  it('the label that is named, of several', async () => {
    const report = await exported(tinyEncoder({ labels: 3 }), { type: 'reranker', head: { fp16: false, label: 2 } });
    expect(report).toMatchObject({ accepted: true, properties: { label: '2', activation: 'none' } });
    expect((await run([[2, 10, 3]])).dims).toEqual([1, 1]);
  });
});

it('an opset that is too old is named with the remedy', async () => {
  await expect(exported(tinyEncoder({ opset: 9 }), {})).rejects.toThrow(/opset 9; 11 is the oldest.*--opset 17/);
});
