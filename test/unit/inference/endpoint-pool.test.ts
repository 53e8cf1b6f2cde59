/** The servers of a name as they come and go: a name server and gRPC servers of our own on loopback addresses. */
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, describe, expect, it } from 'vitest';
import type { InferenceClient } from '../../../src/inference/client.ts';
import type { PoolEvent } from '../../../src/inference/endpoint-pool.ts';
import { createGrpcInferenceClient, type GrpcClientOptions } from '../../../src/inference/grpc-client.ts';
import { type DnsServer, startDnsServer } from '../../support/dns-server.ts';
import { type FakeServer, startFakeServer } from './fake-server.ts';

const ends: (() => unknown)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end();
});

const soon = { timeoutMs: 5_000 };
const LOOK_UP_EVERY_MS = 600;
const [ONE, TWO, THREE] = ['127.0.0.1', '127.0.0.2', '127.0.0.3'] as const;

type Server = FakeServer & { readonly calls: number };

/** Answers at once, or when `held` lets it. */
async function serve(host: string, port = 0, held: () => Promise<void> = async () => {}): Promise<Server> {
  let calls = 0;
  const serverLive = async () => {
    calls++;
    await held();
    return { live: true };
  };
  const server = await startFakeServer({ serverLive }, { host, port });
  ends.push(() => server.stop());
  return {
    ...server,
    get calls() {
      return calls;
    },
  };
}

async function nameServer(...addresses: readonly string[]): Promise<DnsServer> {
  const dns = await startDnsServer(addresses);
  ends.push(() => dns.close());
  return dns;
}

function connect(dns: DnsServer, port: number, options: Partial<GrpcClientOptions> = {}) {
  const events: string[] = [];
  const onEvent = (event: PoolEvent) => {
    events.push(`${event.kind} ${'server' in event ? event.server.split(':')[0] : event.error.code}`);
  };
  const client = createGrpcInferenceClient({
    target: `dns://${dns.address}/pool.test:${port}`,
    targetSetting: 'X',
    receiveLimitBytes: 1 << 20,
    lookUpEveryMs: LOOK_UP_EVERY_MS,
    onEvent,
    ...options,
  });
  ends.push(() => client.close());
  return { client, events };
}

const ask = (client: InferenceClient, times: number) =>
  Promise.all(Array.from({ length: times }, () => client.serverLive(soon)));

describe('a name with several addresses', () => {
  it('each address has connections of its own, and calls go round', async () => {
    const one = await serve(ONE);
    const two = await serve(TWO, one.port);
    const three = await serve(THREE, one.port);
    const { client, events } = connect(await nameServer(ONE, TWO, THREE), one.port);
    const counts = () => [one, two, three].map(({ calls }) => calls);
    const least = async () => {
      await ask(client, 3);
      return Math.min(...counts());
    };
    await expect.poll(least, { timeout: 5_000 }).toBeGreaterThan(0);
    const before = counts();
    await ask(client, 30);
    expect(counts().map((calls, index) => calls - before[index]!)).toEqual([10, 10, 10]);
    expect(events.sort()).toEqual([`joined ${ONE}`, `joined ${TWO}`, `joined ${THREE}`]);
  });

  it('one that is new is found without a failure of the others, and begins with a small share', async () => {
    const one = await serve(ONE);
    const two = await serve(TWO, one.port);
    const dns = await nameServer(ONE);
    const { client, events } = connect(dns, one.port);
    await ask(client, 5);
    dns.answer([ONE, TWO]);
    await expect.poll(() => events, { timeout: 5_000 }).toContain(`joined ${TWO}`);
    const callsOfNew = async () => {
      await ask(client, 20);
      return two.calls;
    };
    await expect.poll(callsOfNew, { timeout: 5_000 }).toBeGreaterThan(0);
    const before = [one.calls, two.calls] as const;
    await ask(client, 55);
    // A tenth of the other's share at first, and no half of all for the ten seconds after.
    expect(two.calls - before[1]).toBeGreaterThanOrEqual(5);
    expect(two.calls - before[1]).toBeLessThan((one.calls - before[0]) / 2);
  });

  it('one that has left gets no more calls, and what is under way there is answered', async () => {
    let answer = () => {};
    const held = new Promise<void>((resolve) => {
      answer = resolve;
    });
    const one = await serve(ONE);
    let two: Server;
    const hold = async () => {
      if (two.calls === 1) await held;
    };
    two = await serve(TWO, one.port, hold);
    const dns = await nameServer(ONE, TWO);
    const { client, events } = connect(dns, one.port);
    const calls: Promise<boolean>[] = [];
    const callsOfLeaver = () => {
      calls.push(client.serverLive({ timeoutMs: 20_000 }));
      return two.calls;
    };
    await expect.poll(callsOfLeaver).toBe(1);
    dns.answer([ONE]);
    await expect.poll(() => events, { timeout: 5_000 }).toContain(`left ${TWO}`);
    await ask(client, 20);
    expect(two.calls).toBe(1);
    answer();
    expect(new Set(await Promise.all(calls))).toEqual(new Set([true]));
  });

  it('servers that move to another address are found, and no call fails after the first', async () => {
    const one = await serve(ONE);
    const dns = await nameServer(ONE);
    const { client } = connect(dns, one.port);
    await ask(client, 5);
    one.stop();
    await serve(TWO, one.port);
    dns.answer([TWO]);
    const asked = async () => (await Promise.allSettled([client.serverLive(soon)]))[0]!.status;
    await expect.poll(asked, { timeout: 5_000 }).toBe('fulfilled');
    for (let i = 0; i < 20; i++) await client.serverLive(soon);
  });

  it('a name server that is silent, or knows no address, leaves those known as they are, and is told once', async () => {
    const one = await serve(ONE);
    const dns = await nameServer(ONE);
    const { client, events } = connect(dns, one.port);
    await ask(client, 5);
    dns.answer([]);
    const questions = dns.questions;
    await expect.poll(() => dns.questions, { timeout: 5_000 }).toBeGreaterThan(questions + 3);
    await ask(client, 5);
    expect(events).toEqual([`joined ${ONE}`, 'unresolved INFERENCE_UNAVAILABLE']);
    dns.answer('silent');
    await sleep(LOOK_UP_EVERY_MS);
    await ask(client, 5);
    expect(events).toHaveLength(2);
  });
});

describe('a list', () => {
  it('a server that was away and comes back begins with a small share', async () => {
    const one = await serve(ONE);
    let two = await serve(TWO, one.port);
    const target = `${one.target},${two.target}`;
    const client = createGrpcInferenceClient({ target, targetSetting: 'X', receiveLimitBytes: 1 << 20 });
    ends.push(() => client.close());
    const both = async () => {
      await ask(client, 10);
      return one.calls > 0 && two.calls > 0;
    };
    await expect.poll(both).toBe(true);
    const calls = one.calls;
    two.stop();
    await ask(client, 20);
    expect(one.calls).toBeGreaterThanOrEqual(calls + 20);
    two = await serve(TWO, one.port);
    const back = async () => {
      await ask(client, 1);
      return two.calls;
    };
    await expect.poll(back, { timeout: 10_000, interval: 20 }).toBe(1);
    const before = [one.calls, two.calls] as const;
    await ask(client, 55);
    expect(two.calls - before[1]).toBeGreaterThanOrEqual(4);
    expect(two.calls - before[1]).toBeLessThan((one.calls - before[0]) / 2);
  });
});

describe('a name without an address', () => {
  it('is an outage that names it, at once; it is found when it has one', async () => {
    const one = await serve(ONE);
    const dns = await nameServer();
    const { client } = connect(dns, one.port);
    await expect(client.serverLive(soon)).rejects.toMatchObject({
      code: 'INFERENCE_UNAVAILABLE',
      message: `the addresses of dns://${dns.address}/pool.test:${one.port} could not be looked up (ENOTFOUND): check the name and the name server`,
    });
    dns.answer([ONE]);
    const asked = async () => (await Promise.allSettled([client.serverLive(soon)]))[0]!.status;
    await expect.poll(asked, { timeout: 5_000 }).toBe('fulfilled');
  });

  it('a silent name server costs no more than the deadline, and a caller that gives up nothing', async () => {
    const dns = await nameServer();
    dns.answer('silent');
    const { client } = connect(dns, 1);
    await expect(client.serverLive({ timeoutMs: 50 })).rejects.toMatchObject({ code: 'INFERENCE_DEADLINE' });
    const stop = new AbortController();
    const call = client.serverLive({ ...soon, signal: stop.signal });
    stop.abort();
    await expect(call).rejects.toMatchObject({ code: 'INFERENCE_CANCELLED' });
  });

  it('a name of the machine itself is looked up by its own resolver', async () => {
    const one = await serve(ONE);
    const client = createGrpcInferenceClient({
      target: `dns:///localhost:${one.port}`,
      targetSetting: 'X',
      receiveLimitBytes: 1 << 20,
    });
    ends.push(() => client.close());
    await ask(client, 5);
    expect(one.calls).toBe(5);
  });
});
