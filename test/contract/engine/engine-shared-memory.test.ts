import { readFileSync, truncateSync, unlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { syntheticVector } from '../../../src/engine/synthetic.ts';
import { isServingError } from '../../../src/errors.ts';
import { encodeAll } from '../../../src/kserve/bytes.ts';
import type { InferRequest } from '../../../src/kserve/tensor.ts';
import { detailsOf, type RunningEngine, runEngine, tensor } from './engine-fixture.ts';

const soon = { timeoutMs: 10_000 };
const SIZE = 16_384;
const DIMS = 8;
const ROW = DIMS * 2;
let running: RunningEngine;
let file: string;

beforeAll(async () => {
  running = await runEngine({ synthetic: { dims: DIMS } });
  file = join(running.shm, 'rag-test');
});
afterAll(() => running.stop());

async function freshRegion(): Promise<void> {
  await running.client.unregisterSharedMemory('region', soon);
  writeFileSync(file, Buffer.alloc(SIZE));
  await running.client.registerSharedMemory({ name: 'region', key: '/rag-test', offset: 0, byteSize: SIZE }, soon);
}

const vectors = (values: readonly string[]) =>
  Buffer.concat(values.map((text) => syntheticVector(Buffer.from(text), DIMS)));

/** Writes the texts at 8 and asks for the output at 8192, as a slot would. */
function request(values: readonly string[], change: { inBytes?: number; outBytes?: number; region?: string } = {}) {
  const bytes = encodeAll(values);
  const content = readFileSync(file);
  content.set(bytes, 8);
  writeFileSync(file, content);
  const region = change.region ?? 'region';
  const range = { region, offset: 8, byteSize: change.inBytes ?? bytes.byteLength };
  return {
    modelName: 'batch_embedder_ensemble',
    inputs: [tensor('TEXT', values.length, { kind: 'region', range })],
    outputs: [
      { name: 'EMBEDDING', region: { region, offset: 8192, byteSize: change.outBytes ?? values.length * ROW } },
    ],
  } satisfies InferRequest;
}

describe('system shared memory', () => {
  it('carries texts in and vectors out, and nothing else of the region changes', async () => {
    await freshRegion();
    const values = ['one', 'zwei', '三', ''];
    const { outputs } = await running.client.infer(request(values), soon);
    expect(outputs[0]!.data).toEqual({ kind: 'region', range: { region: 'region', offset: 8192, byteSize: 4 * ROW } });
    const content = readFileSync(file);
    expect(content.subarray(8192, 8192 + 4 * ROW)).toEqual(vectors(values));
    expect(content.subarray(8192 + 4 * ROW).every((byte) => byte === 0)).toBe(true);
  });

  it('lists what is registered', async () => {
    await freshRegion();
    const region = { name: 'region', key: '/rag-test', offset: 0, byteSize: SIZE };
    expect(await running.client.listSharedMemory(soon)).toEqual([region]);
  });

  it('refuses a taken name, and an unknown region at inference (T01)', async () => {
    await freshRegion();
    const again = running.client.registerSharedMemory(
      { name: 'region', key: '/rag-test', offset: 0, byteSize: 8 },
      soon,
    );
    await expect(again).rejects.toSatisfy((error) => isServingError(error, 'SHM_REGION_EXISTS'));
    const unknown = running.client.infer(request(['a'], { region: 'gone' }), soon);
    await expect(unknown).rejects.toSatisfy((error) => isServingError(error, 'SHM_REGION_UNKNOWN'));
  });

  it('says how much an output that is too small should have', async () => {
    await freshRegion();
    expect(await detailsOf(running.client.infer(request(['a', 'b'], { outBytes: ROW }), soon))).toBe(
      `in ensemble 'batch_embedder_ensemble', shared memory size specified with the request for output 'EMBEDDING' (${ROW} bytes) should be at least ${2 * ROW} bytes to hold the results`,
    );
  });

  it('refuses a range past the end, and a byte size that is not that of the texts', async () => {
    await freshRegion();
    expect(await detailsOf(running.client.infer(request(['a'], { outBytes: SIZE }), soon))).toBe(
      "Invalid offset + byte size for shared memory region: 'region'",
    );
    expect(await detailsOf(running.client.infer(request(['a'], { inBytes: 9 }), soon))).toContain(
      "unexpected number of string elements 2 for inference input 'TEXT'",
    );
  });

  it('goes on with the old memory after unlink and re-creation, as a mapping does', async () => {
    await freshRegion();
    const asked = request(['before']);
    unlinkSync(file);
    writeFileSync(file, Buffer.alloc(SIZE));
    await running.client.infer(asked, soon);
    expect(readFileSync(file).every((byte) => byte === 0)).toBe(true);
  });

  it('survives a region that was cut to nothing', async () => {
    await freshRegion();
    const asked = request(['a']);
    truncateSync(file, 0);
    await expect(running.client.infer(asked, soon)).rejects.toThrow();
    expect(await running.client.serverReady(soon)).toBe(true);
  });

  it('writes its answer even though the client has given up meanwhile', async () => {
    const late = await runEngine({
      synthetic: { dims: DIMS, lateMs: 300, faults: [{ marker: 'LATE', kind: 'late' }] },
    });
    const target = join(late.shm, 'rag-late');
    writeFileSync(target, Buffer.alloc(SIZE));
    await late.client.registerSharedMemory({ name: 'late', key: '/rag-late', offset: 0, byteSize: SIZE }, soon);
    const region = { region: 'late', offset: 8192, byteSize: ROW };
    const bytes = encodeAll(['LATE']);
    const asked = {
      modelName: 'batch_embedder_ensemble',
      inputs: [tensor('TEXT', 1, { kind: 'inline', bytes })],
      outputs: [{ name: 'EMBEDDING', region }],
    } satisfies InferRequest;
    await expect(late.client.infer(asked, { timeoutMs: 100 })).rejects.toSatisfy((error) =>
      isServingError(error, 'INFERENCE_DEADLINE'),
    );
    expect(readFileSync(target).every((byte) => byte === 0)).toBe(true);
    await expect
      .poll(() => readFileSync(target).subarray(8192, 8192 + ROW), { timeout: 5_000 })
      .toEqual(vectors(['LATE']));
    await late.stop();
  });

  it('is refused as a whole when it is switched off', async () => {
    const off = await runEngine({ allowClientSharedMemory: false });
    writeFileSync(join(off.shm, 'rag-off'), Buffer.alloc(64));
    const registering = off.client.registerSharedMemory({ name: 'a', key: '/rag-off', offset: 0, byteSize: 64 }, soon);
    await expect(registering).rejects.toSatisfy((error) => isServingError(error, 'SHM_UNSUPPORTED'));
    expect(await off.client.listSharedMemory(soon)).toEqual([]);
    await off.stop();
  });
});
