import { randomUUID } from 'node:crypto';
import { closeSync, openSync, readdirSync, readFileSync, writeSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, describe, expect, it } from 'vitest';
import { ServingError } from '../../../src/errors.ts';
import type { CallOptions } from '../../../src/inference/client.ts';
import { decodeTexts } from '../../../src/kserve/bytes.ts';
import type { InferRequest, InferResponse, RegionRange } from '../../../src/kserve/tensor.ts';
import { SharedMemoryTransport } from '../../../src/pipeline/shared-memory-transport.ts';
import type { Refusal } from '../../../src/shm/registration.ts';
import { openSharedMemory, type SharedMemory } from '../../../src/shm/shared-memory.ts';
import { silentLog } from '../../../src/telemetry/log.ts';
import { FakeShmServer } from '../../support/shm/fake-shm-server.ts';
import { contract, scriptedTransport, vectorOf } from './scripted.ts';

const workerId = `test-${randomUUID().slice(0, 8)}`;
let memory: SharedMemory | undefined;
afterEach(async () => {
  await memory?.close();
  expect(readdirSync('/dev/shm').filter((name) => name.startsWith(`rag-${workerId}`))).toEqual([]);
});

const rangeOf = (request: InferRequest) => {
  const [input, output] = [request.inputs[0]?.data, request.outputs[0]?.region];
  if (input?.kind !== 'region' || output === undefined) throw new Error('not in shared memory');
  return { input: input.range, output };
};

/** A server with two instances of the model: while one hangs with a request, the other answers, and the hung one ends last. */
class HangingServer extends FakeShmServer {
  hangs = false;
  answered = 0;
  #late: { readonly output: RegionRange; readonly key: string; readonly vectors: Uint8Array } | undefined;

  override async infer(request: InferRequest, { timeoutMs }: CallOptions): Promise<InferResponse> {
    const { input, output } = rangeOf(request);
    const key = this.regions.get(input.region)?.key;
    if (key === undefined) throw new ServingError('SHM_REGION_UNKNOWN', 'unknown region');
    const vectors = Buffer.concat(decodeTexts(this.#read(key, input), 'ARGUMENT_INVALID').map(vectorOf));
    if (this.hangs) {
      this.#late = { output, key, vectors };
      this.inUse.set(input.region, Number.POSITIVE_INFINITY);
      await sleep(timeoutMs);
      throw new ServingError('INFERENCE_DEADLINE', 'no answer in time');
    }
    this.#write(key, output, vectors);
    if (this.#late !== undefined) this.#write(this.#late.key, this.#late.output, this.#late.vectors);
    this.answered++;
    const shape = [1, contract.dims];
    return {
      modelName: contract.modelName,
      modelVersion: '1',
      id: '',
      outputs: [{ name: 'EMBEDDING', datatype: 'FP16', shape, data: { kind: 'region', range: output } }],
    };
  }

  hungOneEnds(): void {
    const late = this.#late;
    if (late === undefined) return;
    this.#write(late.key, late.output, late.vectors);
    this.#late = undefined;
    this.inUse.clear();
  }

  #read(key: string, { offset, byteSize }: RegionRange): Buffer {
    return readFileSync(`/dev/shm${key}`).subarray(offset, offset + byteSize);
  }

  #write(key: string, { offset }: RegionRange, bytes: Uint8Array): void {
    const file = openSync(`/dev/shm${key}`, 'r+');
    writeSync(file, bytes, 0, bytes.byteLength, offset);
    closeSync(file);
  }
}

const limits = { slots: 2, inputBytes: 4_096, outputBytes: 1_024, quarantineMs: 20, timeoutMs: 500 };
const { signal } = new AbortController();

async function open(server: HangingServer, onRefused: (refusal: Refusal) => void = () => {}) {
  const opened = await openSharedMemory(server, { basePath: '/dev/shm', workerId, ...limits }, silentLog);
  if (opened.mode === 'inline') throw new Error(opened.reason);
  memory = opened.memory;
  const inline = scriptedTransport();
  const transport = new SharedMemoryTransport({
    client: server,
    contract,
    timeoutMs: 50,
    memory,
    inline: inline.transport,
    onRefused,
    onReturned: () => {},
    whileInUse: 'wait',
    askAgainMs: 60_000,
  });
  return { transport, pool: memory.pool, inlineCalls: inline.calls };
}

describe('SharedMemoryTransport', () => {
  it('a late answer spoils no later batch, however late it is (T17)', async () => {
    const server = new HangingServer();
    const { transport, pool } = await open(server);
    server.hangs = true;
    await expect(transport.embed(['late'], undefined, signal)).rejects.toMatchObject({ code: 'INFERENCE_DEADLINE' });
    server.hangs = false;
    await sleep(limits.quarantineMs * 2);
    const texts = ['one', 'two', 'three', 'four'];
    const later = texts.map((text) => transport.embed([text], undefined, signal));
    await sleep(100);
    server.hungOneEnds();
    const vectors = await Promise.all(later.map(async (embedding) => Buffer.from((await embedding).vectors)));
    expect(vectors).toEqual(texts.map((text) => Buffer.from(vectorOf(text))));
    expect(server.answered).toBe(4);
    expect(pool.counts).toEqual({ free: 2, leased: 0, quarantined: 0 });
  });

  it('an engine that comes back without shared memory is told of once, before the first batch goes inline', async () => {
    const server = new HangingServer();
    const refusals: Refusal[] = [];
    const { transport } = await open(server, (refusal) => void refusals.push(refusal));
    server.restart();
    server.registerFails = [new ServingError('SHM_UNSUPPORTED', 'disabled')];
    const [a, b] = await Promise.all(['a', 'b'].map((text) => transport.embed([text], undefined, signal)));
    expect([a, b]).toMatchObject([{ transport: 'inline' }, { transport: 'inline' }]);
    expect(refusals).toMatchObject([{ reason: 'unsupported', error: { code: 'SHM_UNSUPPORTED' } }]);
  });

  it('shared memory that is required and refused after a restart: the call fails for good, nothing goes inline', async () => {
    const server = new HangingServer();
    const required = new ServingError('SHM_UNSUPPORTED', 'shared memory is required');
    const { transport, inlineCalls } = await open(server, () => {
      throw required;
    });
    server.restart();
    server.registerFails = [new ServingError('SHM_UNSUPPORTED', 'disabled')];
    await expect(transport.embed(['a'], undefined, signal)).rejects.toBe(required);
    expect(required.failureClass).toBe('fatal');
    expect(inlineCalls).toEqual([]);
  });

  it('an engine that comes back without shared memory: who waits for a slot goes on inline, nobody waits for ever', async () => {
    const server = new HangingServer();
    const { transport, inlineCalls } = await open(server);
    server.hangs = true;
    const hung = ['a', 'b'].map((text) => expect(transport.embed([text], undefined, signal)).rejects.toThrow());
    const waiting = transport.embed(['c'], undefined, signal);
    await Promise.all(hung);
    server.restart();
    server.registerFails = [new ServingError('SHM_UNSUPPORTED', 'disabled')];
    expect(await transport.embed(['d'], undefined, signal)).toMatchObject({ transport: 'inline' });
    expect(await waiting).toMatchObject({ transport: 'inline' });
    expect(inlineCalls.flat().sort()).toEqual(['c', 'd']);
  });
});
