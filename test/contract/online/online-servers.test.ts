/** Several model servers behind one pool: they come, go, move, fall silent, and are left out and taken back. */
import { setTimeout as sleep } from 'node:timers/promises';
import { create } from '@bufbuild/protobuf';
import { afterEach, describe, expect, it } from 'vitest';
import { createOnline, type Log, type Online, type OnlineOptions, type Reranked } from '../../../online/index.ts';
import { type FaultProxy, startProxy } from '../../../scripts/stack/proxy.ts';
import { ModelStatisticsRequestSchema } from '../../../src/kserve/gen/grpc_service_pb.ts';
import { type DnsServer, startDnsServer } from '../../support/dns-server.ts';
import { type Overrides, type RunningEngine, rawCall, runEngine } from '../engine/engine-fixture.ts';
import { transports } from '../infer-transport.ts';
import { candidatesOf, optionsFor } from '../online-contract.ts';

const open: (() => unknown)[] = [];
afterEach(async () => {
  for (const end of open.splice(0).reverse()) await end();
});

type Server = RunningEngine & { readonly stopped: () => Promise<void> };

async function serve(overrides: Overrides = {}): Promise<Server> {
  const engine = await runEngine(overrides);
  let stopping: Promise<void> | undefined;
  const stopped = () => {
    stopping ??= engine.stop();
    return stopping;
  };
  open.push(stopped);
  return { ...engine, stopped };
}

async function proxied({ engine }: RunningEngine): Promise<FaultProxy> {
  const proxy = await startProxy({ target: { port: engine.ports.grpcPort } });
  open.push(() => proxy.close());
  return proxy;
}

async function nameServer(...addresses: readonly string[]): Promise<DnsServer> {
  const dns = await startDnsServer(addresses);
  open.push(() => dns.close());
  return dns;
}

async function connect(options: OnlineOptions) {
  const breakers: string[] = [];
  const note = (message: string, { endpoint, state }: { readonly endpoint?: string; readonly state?: string } = {}) => {
    if (message === 'breaker') breakers.push(`${endpoint} ${state}`);
  };
  const log: Log = { debug: note, info: note, warn: note, error: note, child: () => log };
  const online = await createOnline(options, { log });
  open.push(() => online.close());
  return { online, breakers };
}

async function asked(server: RunningEngine, name = 'online_embedder_ensemble'): Promise<number> {
  type Statistics = { modelStats: { inferenceStats: { success: { count: bigint } } }[] };
  const { modelStats } = await rawCall<Statistics>(
    server,
    'modelStatistics',
    create(ModelStatisticsRequestSchema, { name }),
  );
  return Number(modelStats[0]!.inferenceStats.success.count);
}

const ended = <T>(call: Promise<T>) =>
  call.then(
    () => 'ok',
    (error: { code: string }) => error.code,
  );

const ask = (online: Online, timeoutMs = 5_000) => ended(online.embed('q', { timeoutMs }));

/** So many calls one after the other, by how they ended. */
async function askAll(online: Online, times: number, timeoutMs?: number): Promise<string[]> {
  const all: string[] = [];
  for (let i = 0; i < times; i++) all.push(await ask(online, timeoutMs));
  return all;
}

const allOk = (times: number) => Array<string>(times).fill('ok');

describe.each(transports)('%s', (transport) => {
  it('servers behind a name come and go, and no call fails', async () => {
    const one = await serve({ host: '127.0.0.1' });
    const { grpcPort } = one.engine.ports;
    const two = await serve({ host: '127.0.0.2', grpcPort });
    const dns = await nameServer('127.0.0.1', '127.0.0.2');
    const { online } = await connect(optionsFor(`dns://${dns.address}/models.test:${grpcPort}`, transport));
    const servers = () => Object.keys(online.health().embed.breakers).sort();
    expect(servers()).toEqual([`127.0.0.1:${grpcPort}`, `127.0.0.2:${grpcPort}`]);
    const counts = async () => [await asked(one), await asked(two)];
    await askAll(online, 40);
    for (const count of await counts()) expect(count).toBeGreaterThan(10);

    const three = await serve({ host: '127.0.0.3', grpcPort });
    dns.answer(['127.0.0.1', '127.0.0.3']);
    const ends: string[] = [];
    const moved = async () => {
      ends.push(await ask(online));
      return servers();
    };
    const both = [`127.0.0.1:${grpcPort}`, `127.0.0.3:${grpcPort}`];
    await expect.poll(moved, { timeout: 30_000, interval: 20 }).toEqual(both);
    // Kubernetes takes a pod out of the name, and then ends it.
    const before = await asked(two);
    ends.push(...(await askAll(online, 40)));
    expect(await asked(two)).toBe(before);
    await two.stopped();
    ends.push(...(await askAll(online, 40)));
    expect(ends).toEqual(allOk(ends.length));
    expect(await asked(three)).toBeGreaterThan(0);
  });

  it('a server that ends before its name tells so costs no call', async () => {
    const one = await serve({ host: '127.0.0.1' });
    const { grpcPort } = one.engine.ports;
    const two = await serve({ host: '127.0.0.2', grpcPort });
    const dns = await nameServer('127.0.0.1', '127.0.0.2');
    const { online } = await connect(optionsFor(`dns://${dns.address}/models.test:${grpcPort}`, transport));
    await askAll(online, 20);
    const ends: string[] = [];
    let down = false;
    const stopping = two.stopped().then(() => {
      down = true;
    });
    // Twenty at a time, so that some are under way there when it ends.
    while (!down) ends.push(...(await Promise.all(Array.from({ length: 20 }, () => ask(online)))));
    await stopping;
    ends.push(...(await askAll(online, 20)));
    expect(ends).toEqual(allOk(ends.length));
  });

  it('killed and back on another port of a list: no error after the first failed calls', async () => {
    const server = await serve();
    const [here, there] = [await proxied(server), await proxied(server)];
    await there.cut();
    const { online } = await connect(optionsFor(`${here.address},${there.address}`, transport));
    expect(await askAll(online, 20)).toEqual(allOk(20));
    await here.cut();
    const meanwhile = await askAll(online, 3);
    expect(meanwhile).not.toContain('ok');
    await there.restore();
    await expect.poll(() => ask(online), { timeout: 10_000, interval: 20 }).toBe('ok');
    expect(await askAll(online, 50)).toEqual(allOk(50));
  });

  it('killed and back at another address of its name: no error after the first failed calls', async () => {
    const one = await serve({ host: '127.0.0.1' });
    const { grpcPort } = one.engine.ports;
    const dns = await nameServer('127.0.0.1');
    const { online } = await connect(optionsFor(`dns://${dns.address}/models.test:${grpcPort}`, transport));
    expect(await askAll(online, 5)).toEqual(allOk(5));
    await one.stopped();
    await serve({ host: '127.0.0.2', grpcPort });
    dns.answer(['127.0.0.2']);
    await expect.poll(() => ask(online), { timeout: 10_000, interval: 20 }).toBe('ok');
    expect(await askAll(online, 50)).toEqual(allOk(50));
  });

  it('one of several falls silent: only calls that find out fail, then it is left out, and taken back when it answers', async () => {
    const [one, two, three] = [await serve(), await serve(), await serve()];
    const proxy = await proxied(three);
    const direct = [one, two].map(({ engine }) => `127.0.0.1:${engine.ports.grpcPort}`);
    const { online, breakers } = await connect(optionsFor([...direct, proxy.address].join(','), transport));
    const of = (state: string) => breakers.filter((line) => line === `${proxy.address} ${state}`).length;
    const left = () => online.health().embed.breakers[proxy.address];
    await askAll(online, 30);
    proxy.blackhole();
    const finding: string[] = [];
    while (left() !== 'open') finding.push(await ask(online, 500));
    expect(finding.filter((end) => end !== 'ok')).toEqual(Array(5).fill('INFERENCE_DEADLINE'));
    const after = await askAll(online, 200, 500);
    expect(online.health()).toMatchObject({ status: 'ready' });
    // A probe is a real call: one fails each time that the breaker tries.
    expect(after.filter((end) => end !== 'ok').length).toBeLessThanOrEqual(of('half-open'));
    const before = await asked(three);
    await proxy.restore();
    const back = async () => {
      await ask(online);
      return [left(), (await asked(three)) > before + 1];
    };
    await expect.poll(back, { timeout: 30_000, interval: 20 }).toEqual(['closed', true]);
    expect(await askAll(online, 50)).toEqual(allOk(50));
  });

  it('all of several fall silent: calls fail at once when all are left out, and are answered when one is back', async () => {
    const proxies = [await proxied(await serve()), await proxied(await serve())];
    const { online } = await connect(optionsFor(proxies.map(({ address }) => address).join(','), transport));
    for (const proxy of proxies) proxy.blackhole();
    const allOpen = () => Object.values(online.health().embed.breakers).every((state) => state === 'open');
    while (!allOpen()) await Promise.all(Array.from({ length: 4 }, () => ask(online, 60)));
    const { code, details } = await online.embed('q').catch((error) => error);
    expect(code).toBe('BREAKER_OPEN');
    expect(details.retryInMs).toBeLessThanOrEqual(2_000);
    expect(online.health()).toMatchObject({ status: 'not-ready' });
    await proxies[0]!.restore();
    await expect.poll(() => ask(online, 500), { timeout: 20_000, interval: 50 }).toBe('ok');
    await proxies[1]!.restore();
  });

  it('fifty callers at a half-open breaker: one is the probe, the others have their fallback at once (O12)', async () => {
    const engine = await serve({ synthetic: { faults: [{ marker: 'STALL', kind: 'late' }], lateMs: 300 } });
    const target = `127.0.0.1:${engine.engine.ports.grpcPort}`;
    const { online, breakers } = await connect(optionsFor(target, transport));
    const candidates = candidatesOf(['a', 'b']);
    const rerank = (timeoutMs: number) => online.rerank('STALL', candidates, { timeoutMs });
    const fifty = (timeoutMs: number) => Promise.all(Array.from({ length: 50 }, () => rerank(timeoutMs)));
    const by = (answers: readonly Reranked[], reason: string | undefined) =>
      answers.filter(({ degraded }) => degraded === reason).length;
    while (online.health().rerank!.breakers[target] !== 'open') await rerank(35);
    expect(breakers).toEqual([`${target} open`]);
    // Longer than it stays open, and than the server needs for what it was left with.
    await sleep(2_500);

    const failing = await fifty(35);
    expect([by(failing, 'deadline'), by(failing, 'breaker-open')]).toEqual([1, 49]);
    expect(breakers).toEqual([`${target} open`, `${target} half-open`, `${target} open`]);
    await sleep(2_500);

    const before = await asked(engine, 'online_reranker_ensemble');
    const answered = await fifty(5_000);
    expect([by(answered, undefined), by(answered, 'breaker-open')]).toEqual([1, 49]);
    expect((await asked(engine, 'online_reranker_ensemble')) - before).toBe(1);
    expect(breakers.slice(3)).toEqual([`${target} half-open`, `${target} closed`]);
    expect((await online.rerank('fine', candidates, { timeoutMs: 5_000 })).source).toBe('cross-encoder');
  });
});
