import { readdirSync } from 'node:fs';
import { status } from '@grpc/grpc-js';
import { afterEach, describe, expect, it } from 'vitest';
import { readWorkerConfig } from '../../../../src/config/programs.ts';
import { silentLog } from '../../../../src/telemetry/log.ts';
import { openEngine } from '../../../../workers/worker/embed-transport.ts';
import { type Failure, type Handlers, startFakeServer } from '../../inference/fake-server.ts';

const ID = `unit-open-${process.pid}`;
const model: Handlers = {
  modelReady: () => ({ ready: true }),
  modelMetadata: ({ name }) => ({
    name,
    versions: ['1'],
    platform: 'ensemble',
    inputs: [{ name: 'TEXT', datatype: 'BYTES', shape: [-1n, 1n] }],
    outputs: [{ name: 'EMBEDDING', datatype: 'FP16', shape: [-1n, 8n] }],
  }),
  modelConfig: () => ({ config: { maxBatchSize: 16, parameters: { fingerprint: { stringValue: 'f' } } } }),
  systemSharedMemoryStatus: () => ({}),
  systemSharedMemoryUnregister: () => ({}),
};
const away: Failure = { code: status.UNAVAILABLE, details: 'going down' };
const open: (() => unknown)[] = [];
afterEach(async () => {
  for (const end of open.splice(0)) await end();
  expect(readdirSync('/dev/shm').filter((name) => name.startsWith(`rag-${ID}-`))).toEqual([]);
});

async function openAt(handlers: Handlers, env: Readonly<Record<string, string>> = {}) {
  const server = await startFakeServer({ ...model, ...handlers });
  open.push(() => server.stop());
  const config = readWorkerConfig({
    KAFKA_BOOTSTRAP_SERVERS: 'localhost:1',
    RAG_SERVING_BATCH_INGEST_GRPC_URL: server.target,
    RAG_SERVING_WORKER_ID: ID,
    RAG_SERVING_SHM_SLOTS: '1',
    RAG_SERVING_SHM_SLOT_INPUT_BYTES: '70000',
    ...env,
  });
  const failures: string[] = [];
  const health = { pass: () => {}, fail: (reason: string) => void failures.push(reason) };
  const opened = await openEngine(
    config,
    { health, onBreaker: () => {}, onCallEnd: () => {}, onLeft: () => {} },
    silentLog,
    new AbortController().signal,
  );
  open.push(() => opened.memory?.close());
  open.push(() => opened.engine.client.close());
  return { ...opened, failures };
}

describe('openEngine', () => {
  it('a server that goes away between its description and the registration is waited for again (T01)', async () => {
    let registrations = 0;
    const { memory, failures } = await openAt({
      systemSharedMemoryRegister: () => (registrations++ === 0 ? away : {}),
    });
    expect(memory).toBeDefined();
    expect(registrations).toBe(2);
    expect(failures).toHaveLength(1);
  });

  it('shared memory that is required and refused ends the start with one clear error', async () => {
    const refusing: Handlers = {
      systemSharedMemoryRegister: () => ({ code: status.UNIMPLEMENTED, details: 'Client shared memory is disabled.' }),
    };
    await expect(openAt(refusing, { RAG_SERVING_SHM_MODE: 'required' })).rejects.toMatchObject({
      code: 'SHM_UNSUPPORTED',
      message: expect.stringContaining('--allow-client-shm=true'),
    });
    expect((await openAt(refusing)).memory).toBeUndefined();
  });
});
