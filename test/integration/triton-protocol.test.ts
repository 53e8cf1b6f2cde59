/** Our protocol, codecs and error table against a real Triton: what it really answers, not what we think it does. */
import { closeSync, openSync, readSync, rmSync, writeFileSync, writeSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import type { InferenceClient, SharedMemoryRegion } from '../../src/inference/client.ts';
import { receiveLimitFor } from '../../src/inference/connection.ts';
import { createGrpcInferenceClient } from '../../src/inference/grpc-client.ts';
import { encodeAll } from '../../src/kserve/bytes.ts';
import { bytesPerVector } from '../../src/kserve/contract.ts';
import { decodeFp16 } from '../../src/kserve/fp16.ts';
import { embedderContract, rerankerContract } from '../../src/kserve/model-contract.ts';
import type { InferRequest, OutputRequest, RegionRange, TensorData } from '../../src/kserve/tensor.ts';
import { vectorFault } from '../../src/kserve/vector.ts';
import { useTriton } from '../support/stack.ts';

const MODEL = 'batch_embedder_ensemble';
const VECTOR_BYTES = bytesPerVector({ dims: 384, dtype: 'FP16' });
const soon = { timeoutMs: 30_000 };
const texts = ['The cat sits on the mat.', '', 'Ein Stück Text: 你好 🚀', 'lone \ud83d surrogate'];

const triton = useTriton({
  models: [MODEL, 'online_reranker_ensemble', 'slow', 'slow_timeout', 'rejecting', 'nan_rows'],
});
let client: InferenceClient;
beforeAll(() => {
  client = createGrpcInferenceClient({ target: triton().grpcUrl, targetSetting: 'X', receiveLimitBytes: 4 << 20 });
});
afterAll(() => client.close());

function request(model: string, rows: readonly string[], output: OutputRequest = { name: 'EMBEDDING' }): InferRequest {
  return withInput(model, rows.length, { kind: 'inline', bytes: encodeAll(rows) }, output);
}

function withInput(model: string, rows: number, data: TensorData, output: OutputRequest): InferRequest {
  return {
    modelName: model,
    id: 'r1',
    inputs: [{ name: 'TEXT', datatype: 'BYTES', shape: [rows, 1], data }],
    outputs: [output],
  };
}

async function embed(model: string, rows: readonly string[]): Promise<Uint8Array> {
  const response = await client.infer(request(model, rows), soon);
  return (response.outputs[0]!.data as { bytes: Uint8Array }).bytes;
}

describe('server and models', () => {
  it('is live and ready, and knows which models are', async () => {
    expect(await client.serverLive(soon)).toBe(true);
    expect(await client.serverReady(soon)).toBe(true);
    expect(await client.modelReady(MODEL, soon)).toBe(true);
    expect(await client.modelReady('no_such_model', soon)).toBe(false);
  });

  it('the embedder keeps its contract', async () => {
    const contract = embedderContract(await client.describeModel(MODEL, soon));
    expect(contract).toMatchObject({ modelName: MODEL, dims: 384, dtype: 'FP16', maxBatch: 256 });
    expect(contract.fingerprint).toMatch(/MiniLM.*\/384$/);
    expect(receiveLimitFor(contract)).toBe(4 << 20);
  });

  it('the reranker keeps its contract, and is no embedder', async () => {
    const model = await client.describeModel('online_reranker_ensemble', soon);
    expect(rerankerContract(model)).toEqual({ modelName: 'online_reranker_ensemble', maxBatch: 32 });
    expect(() => embedderContract(model)).toThrow(/input TEXT: expected, found/);
  });

  it('a model that is not there is MODEL_NOT_READY, described or called', async () => {
    await expect(client.describeModel('no_such_model', soon)).rejects.toMatchObject({ code: 'MODEL_NOT_READY' });
    await expect(client.infer(request('no_such_model', ['a']), soon)).rejects.toMatchObject({
      code: 'MODEL_NOT_READY',
    });
  });
});

describe('inference inside the message', () => {
  it('gives one unit vector a text, blank and broken texts too', async () => {
    const response = await client.infer(request(MODEL, texts), soon);
    const output = response.outputs[0]!;
    expect(response.id).toBe('r1');
    expect(output).toMatchObject({ name: 'EMBEDDING', datatype: 'FP16', shape: [4, 384] });
    const values = decodeFp16((output.data as { bytes: Uint8Array }).bytes);
    for (let row = 0; row < texts.length; row++) {
      const norm = Math.hypot(...values.subarray(row * 384, (row + 1) * 384));
      expect(norm).toBeCloseTo(1, 2);
    }
  });

  it('vectors that are not finite, or zero, are found out in their rows (T10)', async () => {
    const bytes = await embed('nan_rows', ['good', 'nan-row', 'inf-row', 'zero-row', 'good']);
    const faults = Array.from({ length: 5 }, (_, row) =>
      vectorFault(bytes.subarray(row * VECTOR_BYTES, (row + 1) * VECTOR_BYTES), 'FP16'),
    );
    expect(faults).toEqual([undefined, 'VECTOR_NOT_FINITE', 'VECTOR_NOT_FINITE', 'VECTOR_ZERO', undefined]);
  });

  it('more rows than the largest batch is a refusal (T12)', async () => {
    const rows = Array.from({ length: 257 }, () => 'x');
    await expect(client.infer(request('nan_rows', rows), soon)).rejects.toMatchObject({ code: 'INFERENCE_REJECTED' });
  });

  it('an output or a datatype that the model does not have is a refusal', async () => {
    const odd = request(MODEL, ['a'], { name: 'NOTHING' });
    await expect(client.infer(odd, soon)).rejects.toMatchObject({ code: 'INFERENCE_REJECTED' });
    const data = { kind: 'inline', bytes: new Uint8Array(4) } as const;
    const numbers = {
      ...request(MODEL, ['a']),
      inputs: [{ name: 'TEXT', datatype: 'FP32', shape: [1, 1], data }] as const,
    };
    await expect(client.infer(numbers, soon)).rejects.toMatchObject({ code: 'INFERENCE_REJECTED' });
  });
});

describe('inference through shared memory', () => {
  const REGION_BYTES = 64 * 1024;
  const OUTPUT_AT = 8_192;
  const name = `rag-protocol-${process.pid}`;
  const path = `/dev/shm/${name}`;
  const region: SharedMemoryRegion = { name, key: `/${name}`, offset: 0, byteSize: REGION_BYTES };
  let file: number;

  beforeAll(async () => {
    writeFileSync(path, Buffer.alloc(REGION_BYTES));
    file = openSync(path, 'r+');
    await client.registerSharedMemory(region, soon);
  });
  afterAll(async () => {
    await client.unregisterSharedMemory(name, soon);
    closeSync(file);
    rmSync(path);
  });

  function put(rows: readonly string[], offset: number): RegionRange {
    const bytes = encodeAll(rows);
    writeSync(file, bytes, 0, bytes.length, offset);
    return { region: name, offset, byteSize: bytes.length };
  }
  function slot(byteSize: number, offset = OUTPUT_AT): OutputRequest {
    return { name: 'EMBEDDING', region: { region: name, offset, byteSize } };
  }
  const call = (range: RegionRange, rows: number, output: OutputRequest) =>
    client.infer(withInput(MODEL, rows, { kind: 'region', range }, output), soon);

  it('BYTES in, FP16 out: the same bits as inside the message', async () => {
    const inline = await embed(MODEL, texts);
    for (const offset of [0, 64]) {
      const response = await call(put(texts, offset), texts.length, slot(16 * VECTOR_BYTES));
      expect(response.outputs).toEqual([
        {
          name: 'EMBEDDING',
          datatype: 'FP16',
          shape: [4, 384],
          data: { kind: 'region', range: { region: name, offset: OUTPUT_AT, byteSize: 4 * VECTOR_BYTES } },
        },
      ]);
      const vectors = Buffer.alloc(4 * VECTOR_BYTES);
      readSync(file, vectors, 0, vectors.length, OUTPUT_AT);
      expect(vectors.equals(inline)).toBe(true);
      writeSync(file, Buffer.alloc(vectors.length), 0, vectors.length, OUTPUT_AT);
    }
  });

  it('texts in shared memory, vectors inside the message', async () => {
    const response = await call(put(texts, 0), texts.length, { name: 'EMBEDDING' });
    expect(
      Buffer.from(await embed(MODEL, texts)).equals((response.outputs[0]!.data as { bytes: Uint8Array }).bytes),
    ).toBe(true);
  });

  it('registered regions are listed', async () => {
    expect(await client.listSharedMemory(soon)).toContainEqual(region);
  });

  it('a region that Triton does not know is SHM_REGION_UNKNOWN (T01)', async () => {
    const nowhere = { ...put(texts, 0), region: 'rag-nowhere' };
    await expect(call(nowhere, 4, slot(4 * VECTOR_BYTES))).rejects.toMatchObject({ code: 'SHM_REGION_UNKNOWN' });
    await client.unregisterSharedMemory('rag-nowhere', soon);
  });

  it('a range past the end, and an output that does not fit, are SHM_INVALID', async () => {
    const range = put(texts, 0);
    const past = { ...range, offset: REGION_BYTES - 4 };
    await expect(call(past, 4, slot(4 * VECTOR_BYTES))).rejects.toMatchObject({ code: 'SHM_INVALID' });
    await expect(call({ ...range, offset: REGION_BYTES * 2 }, 4, slot(4 * VECTOR_BYTES))).rejects.toMatchObject({
      code: 'SHM_INVALID',
    });
    await expect(call(range, 4, slot(16))).rejects.toMatchObject({ code: 'SHM_INVALID' });
  });

  it('a taken name and a taken key are SHM_REGION_EXISTS', async () => {
    await expect(client.registerSharedMemory(region, soon)).rejects.toMatchObject({ code: 'SHM_REGION_EXISTS' });
    const again = { ...region, name: `${name}-again` };
    await expect(client.registerSharedMemory(again, soon)).rejects.toMatchObject({ code: 'SHM_REGION_EXISTS' });
  });

  it('a region in use is neither given up nor taken anew before its request has ended, though its client has gone', async () => {
    const input: TensorData = { kind: 'region', range: put(['a'], 0) };
    const abandoned = client.infer(withInput('slow', 1, input, slot(VECTOR_BYTES)), { timeoutMs: 50 });
    await expect(abandoned).rejects.toMatchObject({ code: 'INFERENCE_DEADLINE' });
    const inUse = { code: 'SHM_REGION_EXISTS' };
    await expect(client.registerSharedMemory(region, soon)).rejects.toMatchObject(inUse);
    const again = { ...region, name: `${name}.2` };
    await expect(client.registerSharedMemory(again, soon)).rejects.toMatchObject(inUse);
    await expect(client.unregisterSharedMemory(name, soon)).rejects.toMatchObject(inUse);
    await expect(client.registerSharedMemory(again, soon)).rejects.toMatchObject(inUse);
    const giveUp = () => client.unregisterSharedMemory(name, soon).then(() => true);
    await vi.waitUntil(() => giveUp().catch(() => false), { timeout: 10_000, interval: 20 });
    await client.registerSharedMemory(region, soon);
  });

  it('a file that Triton cannot open is SHM_UNSUPPORTED, one that is too short SHM_INVALID', async () => {
    const missing = { ...region, name: 'rag-missing', key: '/rag-missing' };
    await expect(client.registerSharedMemory(missing, soon)).rejects.toMatchObject({ code: 'SHM_UNSUPPORTED' });
    const short = `${name}-short`;
    writeFileSync(`/dev/shm/${short}`, Buffer.alloc(16));
    try {
      const long = { ...region, name: short, key: `/${short}` };
      await expect(client.registerSharedMemory(long, soon)).rejects.toMatchObject({ code: 'SHM_INVALID' });
    } finally {
      rmSync(`/dev/shm/${short}`);
    }
  });
});

describe('a busy or broken model', () => {
  const outcomes = async (model: string, calls: number) => {
    const all = Array.from({ length: calls }, () => client.infer(request(model, ['a']), soon));
    const settled = await Promise.allSettled(all);
    return settled.map((each) => (each.status === 'fulfilled' ? 'ok' : (each.reason as { code: string }).code));
  };

  it('a full queue is INFERENCE_QUEUE_FULL, and what was queued is answered', async () => {
    const found = await outcomes('slow', 40);
    expect(new Set(found)).toEqual(new Set(['ok', 'INFERENCE_QUEUE_FULL']));
  });

  it('a request that waits too long in the queue is INFERENCE_QUEUE_TIMEOUT', async () => {
    const found = await outcomes('slow_timeout', 8);
    expect(new Set(found)).toEqual(new Set(['ok', 'INFERENCE_QUEUE_TIMEOUT']));
  });

  it('a deadline that passes while the model works is INFERENCE_DEADLINE, and a cancel INFERENCE_CANCELLED', async () => {
    const late = client.infer(request('slow', ['a']), { timeoutMs: 100 });
    await expect(late).rejects.toMatchObject({ code: 'INFERENCE_DEADLINE' });
    const signal = AbortSignal.timeout(100);
    await expect(client.infer(request('slow', ['a']), { ...soon, signal })).rejects.toMatchObject({
      code: 'INFERENCE_CANCELLED',
    });
  });

  it('a text that makes the model fail is INFERENCE_FAILED, and our message does not quote it (T20)', async () => {
    const failed = client.infer(request('rejecting', ['fine', 'reject-request SENTINEL']), soon);
    await expect(failed).rejects.toMatchObject({
      code: 'INFERENCE_FAILED',
      message: expect.not.stringContaining('SENTINEL'),
    });
  });

  it('a model whose process has died is INFERENCE_FAILED', async () => {
    const dying = client.infer(request('rejecting', ['crash-stub']), soon);
    await expect(dying).rejects.toMatchObject({ code: 'INFERENCE_FAILED' });
  });
});
