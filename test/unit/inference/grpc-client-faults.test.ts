import type { AddressInfo } from 'node:net';
import { createServer, type Server, type Socket } from 'node:net';
import { status } from '@grpc/grpc-js';
import { afterEach, describe, expect, it } from 'vitest';
import type { CallOptions, InferenceClient } from '../../../src/inference/client.ts';
import { createGrpcInferenceClient } from '../../../src/inference/grpc-client.ts';
import { encodeAll } from '../../../src/kserve/bytes.ts';
import type { InferRequest } from '../../../src/kserve/tensor.ts';
import { type Handlers, silence, startFakeServer } from './fake-server.ts';

const open: (() => void)[] = [];
afterEach(() => {
  for (const end of open.splice(0)) end();
});

function connect(target: string): InferenceClient {
  const client = createGrpcInferenceClient({ target, targetSetting: 'X', receiveLimitBytes: 4 << 20 });
  open.push(() => client.close());
  return client;
}

async function serve(handlers: Handlers, port = 0) {
  const server = await startFakeServer(handlers, { port });
  open.push(() => server.stop());
  return server;
}

/** Accepts connections and says nothing. */
async function silentPeer(): Promise<string> {
  const sockets = new Set<Socket>();
  const server: Server = createServer((socket) => sockets.add(socket.on('error', () => {})));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  open.push(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return `127.0.0.1:${(server.address() as AddressInfo).port}`;
}

/** A port on which nobody listens. */
async function deadPort(): Promise<number> {
  const server = await startFakeServer({});
  server.stop();
  return server.port;
}

const soon = { timeoutMs: 5_000 };
const request: InferRequest = {
  modelName: 'm',
  inputs: [{ name: 'TEXT', datatype: 'BYTES', shape: [1, 1], data: { kind: 'inline', bytes: encodeAll(['a']) } }],
  outputs: [{ name: 'EMBEDDING' }],
};
const live: Handlers = { serverLive: () => ({ live: true }) };

async function outcomeOf(call: Promise<unknown>): Promise<unknown> {
  return call.then(
    (value) => value,
    (error: { code?: string }) => error.code,
  );
}

describe('a peer that accepts TCP and never answers ends in the deadline of each call (T17)', () => {
  const region = { name: 'rag-1', key: '/rag-1', offset: 0, byteSize: 64 };
  const calls: Record<string, (client: InferenceClient, options: CallOptions) => Promise<unknown>> = {
    serverLive: (client, options) => client.serverLive(options),
    serverReady: (client, options) => client.serverReady(options),
    modelReady: (client, options) => client.modelReady('m', options),
    describeModel: (client, options) => client.describeModel('m', options),
    infer: (client, options) => client.infer(request, options),
    registerSharedMemory: (client, options) => client.registerSharedMemory(region, options),
    unregisterSharedMemory: (client, options) => client.unregisterSharedMemory('rag-1', options),
    listSharedMemory: (client, options) => client.listSharedMemory(options),
  };
  it(Object.keys(calls).join(', '), async () => {
    const client = connect(await silentPeer());
    const ended = Object.values(calls).map((call) => outcomeOf(call(client, { timeoutMs: 300 })));
    expect(new Set(await Promise.all(ended))).toEqual(new Set(['INFERENCE_DEADLINE']));
  });
});

describe('deadline and cancellation', () => {
  it('a server that does not answer ends in the deadline, which it has been told', async () => {
    let left = 0;
    const server = await serve({
      modelInfer: (_, { deadlineMs }) => {
        left = deadlineMs - Date.now();
        return silence();
      },
    });
    const call = connect(server.target).infer(request, { timeoutMs: 400 });
    expect(await outcomeOf(call)).toBe('INFERENCE_DEADLINE');
    expect(left).toBeGreaterThan(0);
    expect(left).toBeLessThanOrEqual(400);
  });

  for (const timeoutMs of [Number.NaN, 0, -1, 2 ** 31, Number.POSITIVE_INFINITY]) {
    it(`a timeout of ${timeoutMs} ms is an argument error and no call (O15)`, async () => {
      const call = connect('127.0.0.1:1').infer(request, { timeoutMs });
      await expect(call).rejects.toMatchObject({
        code: 'ARGUMENT_INVALID',
        message: expect.stringContaining('timeoutMs'),
      });
    });
  }

  it('a signal that has fired already makes no call (O15)', async () => {
    let calls = 0;
    const server = await serve({ serverLive: () => ({ live: calls++ >= 0 }) });
    const call = connect(server.target).serverLive({ ...soon, signal: AbortSignal.abort() });
    await expect(call).rejects.toMatchObject({ code: 'INFERENCE_CANCELLED', failureClass: 'caller' });
    expect(calls).toBe(0);
  });

  it('a signal during the call ends it at once, on the server too', async () => {
    let cancelled = () => false;
    const abort = new AbortController();
    const server = await serve({
      modelInfer: (_, seen) => {
        cancelled = seen.cancelled;
        setTimeout(() => abort.abort(), 20);
        return silence();
      },
    });
    const call = connect(server.target).infer(request, { ...soon, signal: abort.signal });
    expect(await outcomeOf(call)).toBe('INFERENCE_CANCELLED');
    await expect.poll(() => cancelled()).toBe(true);
  });

  it('a signal that outlives many calls keeps no listener of theirs', async () => {
    const server = await serve(live);
    const client = connect(server.target);
    const abort = new AbortController();
    let listeners = 0;
    const { addEventListener, removeEventListener } = abort.signal;
    abort.signal.addEventListener = (...args: Parameters<typeof addEventListener>) => {
      listeners++;
      addEventListener.apply(abort.signal, args);
    };
    abort.signal.removeEventListener = (...args: Parameters<typeof removeEventListener>) => {
      listeners--;
      removeEventListener.apply(abort.signal, args);
    };
    for (let i = 0; i < 5; i++) await client.serverLive({ ...soon, signal: abort.signal });
    expect(listeners).toBe(0);
  });

  it('a closed client says so', async () => {
    const client = connect((await serve(live)).target);
    client.close();
    client.close();
    await expect(client.serverLive(soon)).rejects.toMatchObject({ code: 'INFERENCE_UNAVAILABLE' });
  });
});

describe('a server that comes, goes and comes back', () => {
  it('a client started before its server finds it within 2 s (T16)', async () => {
    const port = await deadPort();
    const client = connect(`127.0.0.1:${port}`);
    const until = performance.now() + 3_000;
    while (performance.now() < until) {
      expect(await outcomeOf(client.serverLive(soon))).toBe('INFERENCE_UNAVAILABLE');
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
    await serve(live, port);
    expect(await msUntilLive(client)).toBeLessThan(2_200);
  });

  it('a server that restarts is found again within 2 s', async () => {
    const first = await serve(live);
    const client = connect(first.target);
    expect(await client.serverLive(soon)).toBe(true);
    first.stop();
    await expect(client.serverLive(soon)).rejects.toMatchObject({
      code: 'INFERENCE_UNAVAILABLE',
      failureClass: 'outage',
    });
    await serve(live, first.port);
    expect(await msUntilLive(client)).toBeLessThan(2_200);
  });
});

describe('several endpoints', () => {
  it('calls go round', async () => {
    const calls = [0, 0];
    const servers = await Promise.all(calls.map((_, i) => serve({ serverLive: () => ({ live: ++calls[i]! > 0 }) })));
    const client = connect(servers.map(({ target }) => target).join(','));
    for (let i = 0; i < 10; i++) await client.serverLive(soon);
    expect(calls).toEqual([5, 5]);
  });

  it('an endpoint without a server costs no call', async () => {
    const client = connect(`127.0.0.1:${await deadPort()},${(await serve(live)).target}`);
    for (let i = 0; i < 10; i++) expect(await client.serverLive(soon)).toBe(true);
  });

  it('a silent endpoint costs no more than the call that finds out', async () => {
    const client = connect(`${await silentPeer()},${(await serve(live)).target}`);
    const outcomes: unknown[] = [];
    for (let i = 0; i < 6; i++) outcomes.push(await outcomeOf(client.serverLive({ timeoutMs: 300 })));
    expect(outcomes.filter((outcome) => outcome === true).length).toBeGreaterThanOrEqual(5);
  });

  it('all away is an outage', async () => {
    const client = connect(`127.0.0.1:${await deadPort()},127.0.0.1:${await deadPort()}`);
    await expect(client.serverLive(soon)).rejects.toMatchObject({ code: 'INFERENCE_UNAVAILABLE' });
  });

  it('an answer that is an error is the answer: a full queue is not asked for elsewhere', async () => {
    let calls = 0;
    const full: Handlers = {
      modelInfer: () => {
        calls++;
        return { code: status.UNAVAILABLE, details: 'Exceeds maximum queue size' };
      },
    };
    const client = connect(`${(await serve(full)).target},${(await serve(full)).target}`);
    await expect(client.infer(request, soon)).rejects.toMatchObject({ code: 'INFERENCE_QUEUE_FULL' });
    expect(calls).toBe(1);
  });
});

async function msUntilLive(client: InferenceClient): Promise<number> {
  const start = performance.now();
  while ((await outcomeOf(client.serverLive(soon))) !== true) {
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  return performance.now() - start;
}
