/**
 * Slots over random fates of their calls: none is lost, and nobody gets another batch's vectors, whatever a server does late.
 * A real server cannot be made to write at the one moment that does harm: after the answer to the next batch, before we read it.
 */
import { randomUUID } from 'node:crypto';
import { closeSync, openSync, readdirSync, readFileSync, writeSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, describe, expect, it } from 'vitest';
import { isServingError, ServingError } from '../../../src/errors.ts';
import type { CallOptions } from '../../../src/inference/client.ts';
import { decodeTexts } from '../../../src/kserve/bytes.ts';
import type { InferRequest, InferResponse, RegionRange } from '../../../src/kserve/tensor.ts';
import { SharedMemoryTransport } from '../../../src/pipeline/shared-memory-transport.ts';
import { openSharedMemory, type SharedMemory } from '../../../src/shm/shared-memory.ts';
import { silentLog } from '../../../src/telemetry/log.ts';
import { FakeShmServer } from '../../support/shm/fake-shm-server.ts';
import { contract, scriptedTransport, vectorOf } from './scripted.ts';

const SLOTS = 3;
const workerId = `test-${randomUUID().slice(0, 8)}`;
let memory: SharedMemory | undefined;
afterEach(async () => {
  await memory?.close();
  expect(readdirSync('/dev/shm').filter((name) => name.startsWith(`rag-${workerId}`))).toEqual([]);
});

type Random = () => number;
type Late = { readonly region: string; readonly key: string; readonly offset: number; readonly vectors: Buffer };

/** Mulberry32, as everywhere in the tests. */
function seeded(seed: number): Random {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

class FickleEngine extends FakeShmServer {
  sound = false;
  readonly fates = new Map<string, number>();
  readonly #random: Random;
  /** Run on at the server after their client has gone, and write in the end. */
  #hung: Late[] = [];
  /** Were lost on the way, and arrive when nobody expects them. */
  #onTheirWay: Late[] = [];

  constructor(random: Random) {
    super();
    this.#random = random;
  }

  override async infer(request: InferRequest, _options: CallOptions): Promise<InferResponse> {
    const [input, output] = [request.inputs[0]?.data, request.outputs[0]?.region];
    if (input?.kind !== 'region' || output === undefined) throw new Error('not in shared memory');
    await sleep(this.#random() * 3);
    const key = this.regions.get(input.range.region)?.key;
    if (key === undefined) throw new ServingError('SHM_REGION_UNKNOWN', 'unknown region');
    const texts = decodeTexts(bytesAt(key, input.range), 'ARGUMENT_INVALID');
    const vectors = Buffer.concat(texts.map(vectorOf));
    const late = { region: output.region, key, offset: output.offset, vectors };
    switch (this.#fate()) {
      case 'hangs':
        this.#hung.push(late);
        this.inUse.set(output.region, Number.POSITIVE_INFINITY);
        throw new ServingError('INFERENCE_DEADLINE', 'no answer in time');
      case 'lost':
        this.#onTheirWay.push(late);
        throw new ServingError('INFERENCE_UNAVAILABLE', 'lost');
      case 'cancelled':
        this.#onTheirWay.push(late);
        throw new ServingError('INFERENCE_CANCELLED', 'the server went away in the middle of it');
      case 'restart':
        this.restart();
        throw new ServingError('INFERENCE_UNAVAILABLE', 'restarting');
      case 'refuses-region':
        this.restart();
        this.registerFails.push(new ServingError('SHM_UNSUPPORTED', 'disabled'));
        throw new ServingError('INFERENCE_UNAVAILABLE', 'restarting without shared memory');
      case 'rejects':
        throw new ServingError('INFERENCE_REJECTED', 'a text that the model does not take');
      case 'answers':
        writeAt(late);
        this.late();
        return {
          modelName: contract.modelName,
          modelVersion: '1',
          id: '',
          outputs: [
            {
              name: 'EMBEDDING',
              datatype: 'FP16',
              shape: [texts.length, contract.dims],
              data: { kind: 'region', range: output },
            },
          ],
        };
    }
  }

  override restart(): void {
    super.restart();
    this.inUse.clear();
    this.#hung = [];
  }

  /** What is late writes now: a request that hung in any case, one that arrives only under a name that is registered. */
  late(): void {
    for (const late of this.#hung) writeAt(late);
    for (const late of this.#onTheirWay) if (this.regions.has(late.region)) writeAt(late);
    this.#hung = [];
    this.#onTheirWay = [];
    this.inUse.clear();
  }

  #fate() {
    const fates = ['hangs', 'lost', 'cancelled', 'restart', 'refuses-region', 'rejects'] as const;
    const fate = this.sound ? undefined : fates[Math.floor(this.#random() * fates.length * 2)];
    const name = fate ?? 'answers';
    this.fates.set(name, (this.fates.get(name) ?? 0) + 1);
    return name;
  }
}

function bytesAt(key: string, { offset, byteSize }: RegionRange): Buffer {
  return readFileSync(`/dev/shm${key}`).subarray(offset, offset + byteSize);
}

function writeAt({ key, offset, vectors }: Late): void {
  const file = openSync(`/dev/shm${key}`, 'r+');
  writeSync(file, vectors, 0, vectors.byteLength, offset);
  closeSync(file);
}

describe('slots over random fates of their calls', () => {
  it.for([1, 2, 3, 4])('none is lost and no batch gets vectors of another (seed %i)', async (seed) => {
    const random = seeded(seed);
    const server = new FickleEngine(random);
    const sizes = { slots: SLOTS, inputBytes: 4_096, outputBytes: 1_024 };
    const limits = { quarantineMs: 5, timeoutMs: 500, inUseWaitMs: 40 };
    const opened = await openSharedMemory(server, { basePath: '/dev/shm', workerId, ...sizes, ...limits }, silentLog);
    if (opened.mode === 'inline') throw new Error(opened.reason);
    memory = opened.memory;
    const transport = new SharedMemoryTransport({
      client: server,
      contract,
      timeoutMs: 50,
      memory,
      inline: scriptedTransport().transport,
      onRefused: () => {},
      onReturned: () => {},
      whileInUse: 'inline',
      askAgainMs: 2,
    });
    const { signal } = new AbortController();
    let embedded = 0;
    const embed = async (texts: readonly string[]) => {
      try {
        const { vectors } = await transport.embed(texts, undefined, signal);
        expect(Buffer.from(vectors)).toEqual(Buffer.concat(texts.map(vectorOf)));
        embedded++;
      } catch (error) {
        if (!isServingError(error)) throw error;
      }
    };
    const lane = async (lane: number) => {
      for (let turn = 0; turn < 60; turn++) {
        await embed(Array.from({ length: 1 + Math.floor(random() * 4) }, (_, row) => `${seed}/${lane}/${turn}/${row}`));
        if (random() < 0.1) server.late();
      }
    };
    await Promise.all([0, 1, 2, 3].map(lane));
    expect(server.fates.size).toBeGreaterThan(3);
    expect(embedded).toBeGreaterThan(60);

    server.sound = true;
    server.registerFails = [];
    server.late();
    await expect
      .poll(async () => {
        await embed(['the last']);
        await sleep(5);
        return { ...opened.memory.pool.counts, waiting: opened.memory.pool.waiting };
      })
      .toEqual({ free: SLOTS, leased: 0, quarantined: 0, waiting: 0 });
  });
});
