import { status } from '@grpc/grpc-js';
import { afterEach, describe, expect, it } from 'vitest';
import type { InferenceClient } from '../../../src/inference/client.ts';
import { receiveLimitFor } from '../../../src/inference/connection.ts';
import { createGrpcInferenceClient, type GrpcClientOptions } from '../../../src/inference/grpc-client.ts';
import { encodeAll } from '../../../src/kserve/bytes.ts';
import { bytesPerVector } from '../../../src/kserve/contract.ts';
import type { InferRequest } from '../../../src/kserve/tensor.ts';
import { type Handlers, startFakeServer } from './fake-server.ts';

const open: { close?(): void; stop?(): void }[] = [];
afterEach(() => {
  for (const each of open.splice(0)) (each.close ?? each.stop)?.call(each);
});

function connect(target: string, options: Partial<GrpcClientOptions> = {}): InferenceClient {
  const client = createGrpcInferenceClient({ target, targetSetting: 'X', receiveLimitBytes: 4 << 20, ...options });
  open.push(client);
  return client;
}

async function serve(handlers: Handlers) {
  const server = await startFakeServer(handlers);
  open.push(server);
  return server;
}

const soon = { timeoutMs: 5_000 };

function embed(texts: readonly string[]): InferRequest {
  return {
    modelName: 'embedder',
    inputs: [
      { name: 'TEXT', datatype: 'BYTES', shape: [texts.length, 1], data: { kind: 'inline', bytes: encodeAll(texts) } },
    ],
    outputs: [{ name: 'EMBEDDING' }],
  };
}

describe('calls', () => {
  it('infer sends the tensors and reads the vectors', async () => {
    const server = await serve({
      modelInfer: (request) => ({
        modelName: request.modelName,
        modelVersion: '3',
        outputs: [{ name: 'EMBEDDING', datatype: 'FP32', shape: [2n, 1n] }],
        rawOutputContents: [Buffer.from(Float32Array.of(request.rawInputContents[0]!.length, 7).buffer)],
      }),
    });
    const response = await connect(server.target).infer(embed(['a', 'bc']), soon);
    const { bytes } = response.outputs[0]!.data as { bytes: Uint8Array };
    expect(response.modelVersion).toBe('3');
    expect(Buffer.from(bytes).readFloatLE(0)).toBe(11);
  });

  it('a model describes itself with its metadata and its config', async () => {
    const server = await serve({
      modelMetadata: ({ name }) => ({
        name,
        versions: ['1'],
        platform: 'ensemble',
        inputs: [{ name: 'TEXT', datatype: 'BYTES', shape: [-1n, 1n] }],
        outputs: [{ name: 'EMBEDDING', datatype: 'FP16', shape: [-1n, 384n] }],
      }),
      modelConfig: () => ({ config: { maxBatchSize: 256, parameters: { fingerprint: { stringValue: 'f' } } } }),
    });
    expect(await connect(server.target).describeModel('m', soon)).toEqual({
      name: 'm',
      versions: ['1'],
      platform: 'ensemble',
      inputs: [{ name: 'TEXT', datatype: 'BYTES', shape: [-1, 1] }],
      outputs: [{ name: 'EMBEDDING', datatype: 'FP16', shape: [-1, 384] }],
      maxBatchSize: 256,
      parameters: { fingerprint: 'f' },
    });
  });

  it('metadata goes with every call, and only its name is told when it cannot', async () => {
    const seen: unknown[] = [];
    const server = await serve({
      serverLive: (_, { metadata }) => {
        seen.push(metadata.get('triton-grpc-protocol-shared-memory')[0]);
        return { live: true };
      },
    });
    const client = connect(server.target, { metadata: { 'triton-grpc-protocol-shared-memory': 'k' } });
    await client.serverLive(soon);
    await client.serverLive(soon);
    expect(seen).toEqual(['k', 'k']);
    const bad = () => connect(server.target, { metadata: { 'x-key': 'SENTINEL\n' } });
    expect(bad).toThrow(/metadata "x-key" is no valid gRPC header/);
    expect(bad).not.toThrow(/SENTINEL/);
  });

  it('a model that the server does not have, or that is not loaded, is not ready (T18)', async () => {
    const failures = [
      { code: status.NOT_FOUND, details: "Request for unknown model: 'm' is not found" },
      { code: status.UNAVAILABLE, details: "Request for unknown model: 'm' version 1 is not at ready state" },
    ];
    const server = await serve({
      serverReady: () => ({ ready: true }),
      modelReady: () => failures.shift() ?? { ready: true },
    });
    const client = connect(server.target);
    expect(await client.serverReady(soon)).toBe(true);
    expect(await client.modelReady('m', soon)).toBe(false);
    expect(await client.modelReady('m', soon)).toBe(false);
    expect(await client.modelReady('m', soon)).toBe(true);
  });
});

describe('message size (T13)', () => {
  const dims = 16_384;
  const contract = { modelName: 'm', fingerprint: 'f', dims, dtype: 'FP32', maxBatch: 128 } as const;
  const vectors = 128 * bytesPerVector(contract);
  let calls = 0;
  const bigAnswer: Handlers = {
    modelInfer: ({ inputs }) => {
      calls++;
      return {
        outputs: [{ name: 'EMBEDDING', datatype: 'FP32', shape: [inputs[0]!.shape[0]!, BigInt(dims)] }],
        rawOutputContents: [Buffer.alloc(vectors)],
      };
    },
  };

  it('an answer over the limit is an error about the message, and one call', async () => {
    const server = await serve(bigAnswer);
    calls = 0;
    const texts = Array.from({ length: 128 }, () => 'x');
    await expect(connect(server.target).infer(embed(texts), soon)).rejects.toMatchObject({
      code: 'INFERENCE_MESSAGE_TOO_LARGE',
      failureClass: 'chunk',
    });
    expect(calls).toBe(1);
  });

  it('a limit made for the model takes 8 MiB of vectors and a request of 6 MiB', async () => {
    const server = await serve(bigAnswer);
    const texts = Array.from({ length: 128 }, () => 'x'.repeat(48 * 1024));
    const client = connect(server.target, { receiveLimitBytes: receiveLimitFor(contract) });
    const response = await client.infer(embed(texts), soon);
    expect((response.outputs[0]!.data as { bytes: Uint8Array }).bytes.length).toBe(vectors);
  });

  it('the limit of a small model is what gRPC has by itself', () => {
    expect(receiveLimitFor({ ...contract, dims: 384, dtype: 'FP16' })).toBe(4 << 20);
    for (const receiveLimitBytes of [0, -1, Number.NaN, 1.5]) {
      expect(() => connect('h:1', { receiveLimitBytes })).toThrow(/receive limit must be a whole number of bytes/);
    }
  });
});

describe('shared memory calls', () => {
  const region = { name: 'rag-1', key: '/rag-1', offset: 0, byteSize: 4096 };

  it('registers, lists and unregisters; an unknown name is fine', async () => {
    const asked: unknown[] = [];
    const server = await serve({
      systemSharedMemoryRegister: ({ name, key, offset, byteSize }) => {
        asked.push([name, key, offset, byteSize]);
        return {};
      },
      systemSharedMemoryStatus: () => ({
        regions: { 'rag-1': { name: 'rag-1', key: '/rag-1', offset: 0n, byteSize: 4096n } },
      }),
      systemSharedMemoryUnregister: () => ({ code: status.NOT_FOUND, details: "Unable to find 'rag-1'" }),
    });
    const client = connect(server.target);
    await client.registerSharedMemory(region, soon);
    expect(asked).toEqual([['rag-1', '/rag-1', 0n, 4096n]]);
    expect(await client.listSharedMemory(soon)).toEqual([region]);
    await client.unregisterSharedMemory('rag-1', soon);
  });

  it('the empty name, which means everybody’s regions, never leaves the client', async () => {
    let calls = 0;
    const server = await serve({
      systemSharedMemoryUnregister: () => {
        calls++;
        return {};
      },
    });
    await expect(connect(server.target).unregisterSharedMemory('', soon)).rejects.toMatchObject({
      code: 'ARGUMENT_INVALID',
    });
    expect(calls).toBe(0);
  });

  for (const wrong of [{ name: '' }, { key: 'rag-1' }, { key: '/a/b' }, { byteSize: 0 }, { offset: -1 }]) {
    it(`a region with ${JSON.stringify(wrong)} is refused here`, async () => {
      const register = connect('127.0.0.1:1').registerSharedMemory({ ...region, ...wrong }, soon);
      await expect(register).rejects.toMatchObject({ code: 'ARGUMENT_INVALID' });
    });
  }

  it('a pool that may be several servers has no shared memory', async () => {
    for (const target of ['127.0.0.1:1,127.0.0.1:2', 'dns:///localhost:1']) {
      const client = connect(target);
      const output = { name: 'EMBEDDING', region: { region: 'rag-1', offset: 0, byteSize: 64 } };
      for (const call of [
        client.registerSharedMemory(region, soon),
        client.unregisterSharedMemory('rag-1', soon),
        client.listSharedMemory(soon),
        client.infer({ ...embed(['a']), outputs: [output] }, soon),
      ]) {
        await expect(call).rejects.toMatchObject({ code: 'SHM_UNSUPPORTED' });
      }
    }
  });
});
