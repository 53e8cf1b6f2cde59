/** Which calls the breaker of a server counts, and which it holds back. */
import { status } from '@grpc/grpc-js';
import { afterEach, describe, expect, it } from 'vitest';
import { createGrpcInferenceClient } from '../../../src/inference/grpc-client.ts';
import { encodeAll } from '../../../src/kserve/bytes.ts';
import type { InferRequest } from '../../../src/kserve/tensor.ts';
import { startFakeServer } from './fake-server.ts';

const open: (() => void)[] = [];
afterEach(() => {
  for (const end of open.splice(0)) end();
});

const soon = { timeoutMs: 5_000 };
const region = { name: 'rag-1', key: '/rag-1', offset: 0, byteSize: 64 };
const request: InferRequest = {
  modelName: 'm',
  inputs: [{ name: 'TEXT', datatype: 'BYTES', shape: [1, 1], data: { kind: 'inline', bytes: encodeAll(['a']) } }],
  outputs: [],
};
const FAILURES_TO_OPEN = 3;

/** A server that is away until it is told to be there, and how often each method has reached it. */
async function setUp() {
  let away = true;
  const reached = { infer: 0, register: 0, live: 0 };
  const answer = <T>(method: keyof typeof reached, good: T) => {
    reached[method]++;
    return away ? { code: status.UNAVAILABLE, details: 'away' } : good;
  };
  const server = await startFakeServer({
    modelInfer: () => answer('infer', { modelName: 'm' }),
    systemSharedMemoryRegister: () => answer('register', {}),
    serverLive: () => answer('live', { live: true }),
  });
  const changes: string[] = [];
  const client = createGrpcInferenceClient({
    target: server.target,
    targetSetting: 'X',
    receiveLimitBytes: 4 << 20,
    breaker: {
      // So long that nothing but a sign of life ends it here.
      policy: { failuresToOpen: FAILURES_TO_OPEN, open: { baseMs: 600_000, maxMs: 600_000 } },
      failureCodes: ['INFERENCE_UNAVAILABLE'],
    },
    onBreakerChange: (_, state) => changes.push(state),
  });
  open.push(
    () => client.close(),
    () => server.stop(),
  );
  const codeOf = (call: Promise<unknown>) =>
    call.then(
      () => 'ok',
      ({ code }: { code: string }) => code,
    );
  return {
    reached,
    changes,
    infer: () => codeOf(client.infer(request, soon)),
    register: () => codeOf(client.registerSharedMemory(region, soon)),
    live: () => codeOf(client.serverLive(soon)),
    comesBack: () => {
      away = false;
    },
  };
}

describe('the breaker of a server', () => {
  it('opens by registrations of shared memory that fail, which come before every inference when a server is away', async () => {
    const { changes, register, infer, reached } = await setUp();
    for (let i = 0; i < FAILURES_TO_OPEN; i++) expect(await register()).toBe('INFERENCE_UNAVAILABLE');
    expect(changes).toEqual(['open']);
    expect(await infer()).toBe('BREAKER_OPEN');
    expect(reached.infer).toBe(0);
  });

  it('holds back no registration; one that succeeds lets the next inference try at once', async () => {
    const { changes, register, infer, reached, comesBack } = await setUp();
    for (let i = 0; i < FAILURES_TO_OPEN; i++) await infer();
    expect(await register()).toBe('INFERENCE_UNAVAILABLE');
    expect(reached.register).toBe(1);
    comesBack();
    expect(await register()).toBe('ok');
    expect(await infer()).toBe('ok');
    expect(changes).toEqual(['open', 'half-open', 'closed']);
  });

  it('neither counts nor holds back a question after the server itself', async () => {
    const { changes, live, reached } = await setUp();
    for (let i = 0; i < 2 * FAILURES_TO_OPEN; i++) await live();
    expect(changes).toEqual([]);
    expect(reached.live).toBe(2 * FAILURES_TO_OPEN);
  });
});
