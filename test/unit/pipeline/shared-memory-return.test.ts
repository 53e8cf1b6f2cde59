/** The way back: an engine that stopped taking shared memory for a while, told by time that the test sets. */
import { randomUUID } from 'node:crypto';
import { readdirSync } from 'node:fs';
import { afterEach, describe, expect, it } from 'vitest';
import { ServingError } from '../../../src/errors.ts';
import type { CallOptions } from '../../../src/inference/client.ts';
import type { InferRequest, InferResponse } from '../../../src/kserve/tensor.ts';
import { SharedMemoryTransport } from '../../../src/pipeline/shared-memory-transport.ts';
import type { Refusal } from '../../../src/shm/registration.ts';
import { openSharedMemory, type SharedMemory } from '../../../src/shm/shared-memory.ts';
import { silentLog } from '../../../src/telemetry/log.ts';
import { FakeShmServer } from '../../support/shm/fake-shm-server.ts';
import { contract, scriptedTransport } from './scripted.ts';

const workerId = `test-${randomUUID().slice(0, 8)}`;
const { signal } = new AbortController();
const disabled = () => new ServingError('SHM_UNSUPPORTED', 'disabled');
let memory: SharedMemory | undefined;
afterEach(async () => {
  await memory?.close();
  expect(readdirSync('/dev/shm').filter((name) => name.startsWith(`rag-${workerId}`))).toEqual([]);
});

/** Answers in shared memory where the region is known; a request that hangs uses the region till `ends`. */
class Engine extends FakeShmServer {
  hangs = false;

  override async infer(request: InferRequest, _options: CallOptions): Promise<InferResponse> {
    const range = request.outputs[0]?.region;
    if (range === undefined) throw new Error('not in shared memory');
    if (!this.regions.has(range.region)) throw new ServingError('SHM_REGION_UNKNOWN', 'unknown');
    if (this.hangs) {
      this.inUse.set(range.region, Number.POSITIVE_INFINITY);
      throw new ServingError('INFERENCE_DEADLINE', 'no answer in time');
    }
    const [shape, data] = [[1, contract.dims], { kind: 'region', range }] as const;
    const outputs = [{ name: 'EMBEDDING', datatype: 'FP16', shape, data }] as const;
    return { modelName: contract.modelName, modelVersion: '1', id: '', outputs };
  }

  ends(): void {
    this.hangs = false;
    this.inUse.clear();
  }
}

async function open(whileInUse: 'wait' | 'inline' = 'inline') {
  const server = new Engine();
  const sizes = { slots: 1, inputBytes: 4_096, outputBytes: 1_024 };
  const limits = { quarantineMs: 60_000, timeoutMs: 500, inUseWaitMs: 60 };
  const opened = await openSharedMemory(server, { basePath: '/dev/shm', workerId, ...sizes, ...limits }, silentLog);
  if (opened.mode === 'inline') throw new Error(opened.reason);
  memory = opened.memory;
  const now = { ms: 0 };
  const told: string[] = [];
  const inlineFails: ServingError[] = [];
  const inline = scriptedTransport(() => {
    const failure = inlineFails.shift();
    if (failure !== undefined) throw failure;
  });
  const transport = new SharedMemoryTransport({
    client: server,
    contract,
    timeoutMs: 50,
    memory,
    inline: inline.transport,
    onRefused: ({ reason }: Refusal) => void told.push(reason),
    onReturned: () => void told.push('returned'),
    whileInUse,
    askAgainMs: 30_000,
    clock: { monotonicMs: () => now.ms, wallMs: () => now.ms },
  });
  const embed = async () => (await transport.embed(['text'], undefined, signal)).transport;
  const registrations = () => server.calls.filter((call) => call.startsWith('register')).length;
  return { server, now, told, embed, registrations, pool: memory.pool, inlineFails };
}

async function untilReturned(told: readonly string[]): Promise<void> {
  await expect.poll(() => told.at(-1), { timeout: 5_000 }).toBe('returned');
}

describe('an engine that stopped taking shared memory', () => {
  it('is asked again at intervals, and gets its batches there once it takes the region (T01)', async () => {
    const { server, now, told, embed, registrations } = await open();
    server.restart();
    server.registerFails = [disabled(), disabled()];
    expect(await embed()).toBe('inline');
    expect(registrations()).toBe(2);
    now.ms = 29_999;
    expect(await embed()).toBe('inline');
    expect(registrations()).toBe(2);
    // Refused once more: the next question is another interval later. No batch waits for the answer.
    now.ms = 30_000;
    expect(await embed()).toBe('inline');
    await expect.poll(registrations).toBe(3);
    now.ms = 59_999;
    expect(await embed()).toBe('inline');
    expect(registrations()).toBe(3);
    now.ms = 60_001;
    await embed();
    await untilReturned(told);
    expect(await embed()).toBe('shared_memory');
    expect(told).toEqual(['unsupported', 'returned']);
  });

  it('is asked at once when the connection was lost meanwhile: it may be another one', async () => {
    const { server, now, told, embed, registrations, inlineFails } = await open();
    server.restart();
    server.registerFails = [disabled()];
    expect(await embed()).toBe('inline');
    inlineFails.push(new ServingError('INFERENCE_UNAVAILABLE', 'lost'));
    await expect(embed()).rejects.toMatchObject({ code: 'INFERENCE_UNAVAILABLE' });
    expect(registrations()).toBe(2);
    // Not there yet: it is asked again soon, not after the interval.
    server.registerFails = [new ServingError('INFERENCE_UNAVAILABLE', 'away')];
    await embed();
    await expect.poll(registrations).toBe(3);
    now.ms = 999;
    await embed();
    expect(registrations()).toBe(3);
    now.ms = 1_000;
    await embed();
    await untilReturned(told);
    expect(await embed()).toBe('shared_memory');
  });
});

describe('a request that we gave up on and that does not end', () => {
  it('holds up no batch where shared memory is not required, and its slot comes back when it has ended', async () => {
    const { server, now, told, embed, pool } = await open();
    server.hangs = true;
    await expect(embed()).rejects.toMatchObject({ code: 'INFERENCE_DEADLINE' });
    expect(pool.counts).toEqual({ free: 0, leased: 0, quarantined: 1 });
    expect(await embed()).toBe('inline');
    now.ms = 30_000;
    expect(await embed()).toBe('inline');
    server.ends();
    now.ms = 90_000;
    await embed();
    await expect.poll(() => (now.ms += 30_000) && embed(), { timeout: 5_000 }).toBe('shared_memory');
    expect(told).toEqual(['in-use', 'returned']);
    expect(pool.counts).toEqual({ free: 1, leased: 0, quarantined: 0 });
  });

  it('leaves nobody waiting for a slot, though whoever lost the last one does not come again', async () => {
    const { server, embed, pool } = await open('wait');
    server.hangs = true;
    const lost = embed();
    const waiting = embed();
    await expect(lost).rejects.toMatchObject({ code: 'INFERENCE_DEADLINE' });
    expect(pool.counts.quarantined).toBe(1);
    server.ends();
    expect(await waiting).toBe('shared_memory');
    expect(pool.counts).toEqual({ free: 1, leased: 0, quarantined: 0 });
  });

  it('is waited for, as for an outage, where it is', async () => {
    const { server, told, embed } = await open('wait');
    server.hangs = true;
    await expect(embed()).rejects.toMatchObject({ code: 'INFERENCE_DEADLINE' });
    await expect(embed()).rejects.toMatchObject({ code: 'SHM_REGION_EXISTS', failureClass: 'outage' });
    server.ends();
    expect(await embed()).toBe('shared_memory');
    expect(told).toEqual([]);
  });
});
