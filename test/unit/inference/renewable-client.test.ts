import { status } from '@grpc/grpc-js';
import { afterEach, describe, expect, it } from 'vitest';
import { createGrpcInferenceClient } from '../../../src/inference/grpc-client.ts';
import { type CallEnd, RenewableClient } from '../../../src/inference/renewable-client.ts';
import { type FakeServer, type Handlers, silence, startFakeServer } from './fake-server.ts';

const servers: FakeServer[] = [];
const clients: RenewableClient[] = [];
afterEach(() => {
  for (const client of clients.splice(0)) client.close();
  for (const server of servers.splice(0)) server.stop();
});

async function openAt(handlers: Handlers) {
  const server = await startFakeServer(handlers);
  servers.push(server);
  const open = (target = server.target) =>
    createGrpcInferenceClient({ target, targetSetting: 'TEST', receiveLimitBytes: 4 << 20 });
  const ends: CallEnd[] = [];
  const client = new RenewableClient(open(), (end) => void ends.push(end));
  clients.push(client);
  return { client, open, ends, server };
}

describe('RenewableClient', () => {
  it('calls under way end at the replacement, as lost; the next one goes over the new connection', async () => {
    const ready = { now: () => silence<{ ready: boolean }>() as Promise<{ ready: boolean }> };
    const { client, open, ends } = await openAt({ modelReady: () => ready.now() });
    const waiting = [1, 2].map(() => client.modelReady('m', { timeoutMs: 20_000 }));
    const outcomes = Promise.allSettled(waiting);
    ready.now = async () => ({ ready: true });
    client.renew(open());
    for (const outcome of await outcomes) {
      expect(outcome).toMatchObject({ reason: { code: 'INFERENCE_UNAVAILABLE', failureClass: 'outage' } });
    }
    expect(await client.modelReady('m', { timeoutMs: 5_000 })).toBe(true);
    // What was ended by us says nothing about the channel.
    expect(ends).toEqual(['answered']);
  });

  it('tells refusals from silence, and says nothing of a caller that gives up', async () => {
    const { client, open, ends } = await openAt({
      modelReady: ({ name }) => (name === 'silent' ? silence() : { code: status.INTERNAL, details: 'broken' }),
    });
    await expect(client.modelReady('broken', { timeoutMs: 5_000 })).rejects.toMatchObject({ code: 'INFERENCE_FAILED' });
    await expect(client.modelReady('silent', { timeoutMs: 50 })).rejects.toMatchObject({ code: 'INFERENCE_DEADLINE' });
    const abort = new AbortController();
    const given = client.modelReady('silent', { timeoutMs: 20_000, signal: abort.signal });
    abort.abort(new Error('enough'));
    await expect(given).rejects.toMatchObject({ code: 'INFERENCE_CANCELLED' });
    await expect(client.modelReady('m', { timeoutMs: 5_000, signal: abort.signal })).rejects.toMatchObject({
      code: 'INFERENCE_CANCELLED',
    });
    client.renew(open('127.0.0.1:1'));
    await expect(client.modelReady('m', { timeoutMs: 5_000 })).rejects.toMatchObject({ code: 'INFERENCE_UNAVAILABLE' });
    expect(ends).toEqual(['answered', 'unanswered', 'unanswered']);
  });

  it('hands on what comes with a call: its trace', async () => {
    let seen: unknown[] = [];
    const { client } = await openAt({
      modelReady: (_, { metadata }) => {
        seen = ['traceparent', 'tracestate'].map((name) => metadata.get(name)[0]);
        return { ready: true };
      },
    });
    const traceparent = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01';
    await client.modelReady('m', { timeoutMs: 5_000, traceparent, tracestate: 'a=1' });
    expect(seen).toEqual([traceparent, 'a=1']);
  });

  it('a replacement that comes after close is closed', async () => {
    const { client, open } = await openAt({ serverLive: () => ({ live: true }) });
    client.close();
    const late = open();
    client.renew(late);
    await expect(late.serverLive({ timeoutMs: 5_000 })).rejects.toMatchObject({ code: 'INFERENCE_UNAVAILABLE' });
  });
});
