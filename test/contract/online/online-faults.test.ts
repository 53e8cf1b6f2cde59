/**
 * The online module when the model server is slow, full, silent or away. Deadlines are generous here where an answer is
 * expected and short where none can come: how much later than its deadline a call ends is measured in the benchmarks.
 */
import { createServer, type Socket } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import { createOnline, type Online, type OnlineOptions, type Reranked } from '../../../online/index.ts';
import { startProxy } from '../../../scripts/stack/proxy.ts';
import { type Overrides, type RunningEngine, runEngine } from '../engine/engine-fixture.ts';
import { transports } from '../infer-transport.ts';
import { candidatesOf, optionsFor } from '../online-contract.ts';

const open: (() => unknown)[] = [];
afterEach(async () => {
  for (const end of open.splice(0).reverse()) await end();
});

async function serve(overrides: Overrides = {}): Promise<RunningEngine> {
  const engine = await runEngine(overrides);
  open.push(() => engine.stop());
  return engine;
}

const targetOf = ({ engine }: RunningEngine) => `127.0.0.1:${engine.ports.grpcPort}`;

async function connect(options: OnlineOptions): Promise<Online> {
  const online = await createOnline(options);
  open.push(() => online.close());
  return online;
}

const candidates = candidatesOf(['a', 'b', 'c']);
const incoming = [1 / 61, 1 / 62, 1 / 63];

function expectIncomingOrder({ results, source }: Reranked) {
  expect(source).toBe('rrf');
  expect(results.map(({ index }) => index)).toEqual([0, 1, 2]);
  expect(results.map(({ score }) => score)).toEqual(incoming);
  expect(results.map(({ rank }) => rank)).toEqual([1, 2, 3]);
}

const ended = <T>(call: Promise<T>) =>
  call.then(
    () => 'ok',
    (error: { code: string }) => error.code,
  );

describe.each(transports)('%s', (transport) => {
  it('a stalled model: calls end at their deadline, the breaker opens, the fallback serves; when it is over the breaker closes', async () => {
    const engine = await serve({ synthetic: { faults: [{ marker: 'STALL', kind: 'late' }], lateMs: 100 } });
    const online = await connect(optionsFor(targetOf(engine), transport));
    const breaker = () => Object.values(online.health().rerank!.breakers);
    const reasons = new Set<unknown>();
    for (let i = 0; i < 30 && breaker()[0] !== 'open'; i++) {
      const answer = await online.rerank('STALL', candidates, { timeoutMs: 35 });
      expectIncomingOrder(answer);
      reasons.add(answer.degraded);
    }
    expect(breaker()).toEqual(['open']);
    expect([...reasons]).toEqual(['deadline']);
    expect(online.health()).toMatchObject({ status: 'degraded', rerank: { ready: false } });
    expect(await online.rerank('fine', candidates)).toMatchObject({ source: 'rrf', degraded: 'breaker-open' });
    // Embedding has a breaker of its own.
    await online.embed('fine', { timeoutMs: 5_000 });
    const recovered = async () => (await online.rerank('fine', candidates, { timeoutMs: 2_000 })).source;
    await expect.poll(recovered, { timeout: 20_000, interval: 100 }).toBe('cross-encoder');
    expect(breaker()).toEqual(['closed']);
  });

  it('a full queue: what is refused comes back in the incoming order, and the breaker opens', async () => {
    const engine = await serve({ synthetic: { batchMs: 50, faults: [] }, queue: { maxQueueSize: 2 } });
    const online = await connect({ ...optionsFor(targetOf(engine), transport) });
    const answers: Reranked[] = [];
    for (let round = 0; round < 20 && online.health().rerank!.ready; round++) {
      answers.push(
        ...(await Promise.all(Array.from({ length: 30 }, () => online.rerank('q', candidates, { timeoutMs: 5_000 })))),
      );
    }
    expect(online.health().rerank!.ready).toBe(false);
    const reasons = new Set(answers.map(({ degraded }) => degraded));
    expect(reasons).toContain('overload');
    for (const answer of answers.filter(({ degraded }) => degraded === 'overload')) expectIncomingOrder(answer);
  });

  it('more calls than the permit bound: the rest fail at once, and nothing is queued here', async () => {
    const engine = await serve({ synthetic: { batchMs: 300 } });
    const { embed, ...rest } = optionsFor(targetOf(engine), transport);
    const online = await connect({ ...rest, embed: { ...embed, maxInFlight: 4, coalesce: false } });
    const calls = Array.from({ length: 10 }, (_, index) => ended(online.embed(`q ${index}`, { timeoutMs: 10_000 })));
    expect(online.stats().pools.embed.inFlight).toBe(4);
    expect((await Promise.all(calls)).filter((end) => end === 'OVERLOADED')).toHaveLength(6);
    expect(online.stats().embed).toEqual({ ok: 4, degraded: 0, failed: { OVERLOADED: 6 } });
    await online.embed('again', { timeoutMs: 10_000 });
  });

  it('too little time left: the model is not asked', async () => {
    const engine = await serve();
    const online = await connect(optionsFor(targetOf(engine), transport));
    const near = { deadline: performance.now() + 3 };
    expectIncomingOrder(await online.rerank('q', candidates, near));
    expect((await online.rerank('q', candidates, { deadline: new Date(0) })).degraded).toBe('deadline-near');
    await expect(online.embed('q', { deadline: performance.now() - 1 })).rejects.toMatchObject({
      code: 'INFERENCE_DEADLINE',
      details: { asked: false },
    });
  });

  it('a silent peer: every call ends, and answers come again when the peer does', async () => {
    const engine = await serve();
    const proxy = await startProxy({ target: { port: engine.engine.ports.grpcPort } });
    open.push(() => proxy.close());
    const online = await connect(optionsFor(proxy.address, transport));
    proxy.blackhole();
    for (let i = 0; i < 10; i++) {
      const [embedded, reranked] = await Promise.all([ended(online.embed('q')), online.rerank('q', candidates)]);
      expect(['INFERENCE_DEADLINE', 'BREAKER_OPEN']).toContain(embedded);
      expectIncomingOrder(reranked);
    }
    await proxy.restore();
    const all = () => ended(online.embed('q', { timeoutMs: 2_000 }));
    await expect.poll(all, { timeout: 20_000, interval: 100 }).toBe('ok');
  });

  it('one endpoint of a list dies: no call fails', async () => {
    const [one, other] = [await serve(), await serve()];
    const proxy = await startProxy({ target: { port: one.engine.ports.grpcPort } });
    open.push(() => proxy.close());
    const online = await connect(optionsFor(`${proxy.address},${targetOf(other)}`, transport));
    await proxy.cut();
    for (let i = 0; i < 20; i++) await online.embed(`q ${i}`, { timeoutMs: 5_000 });
  });

  it('a server that comes later: made without it, degraded until it is there (T16)', async () => {
    const first = await runEngine();
    const port = first.engine.ports.grpcPort;
    await first.stop();
    const online = await connect({ ...optionsFor(`127.0.0.1:${port}`, transport), warmUpTimeoutMs: 100 });
    expect(online.health().status).toBe('not-ready');
    await expect(online.embed('q')).rejects.toMatchObject({ code: 'MODEL_NOT_READY' });
    expect((await online.rerank('q', candidates)).degraded).toBe('not-ready');
    const proxy = await startProxy({ target: { port: (await serve()).engine.ports.grpcPort }, port });
    open.push(() => proxy.close());
    await online.ready(AbortSignal.timeout(30_000));
    expect(online.health().status).toBe('ready');
    await online.embed('q', { timeoutMs: 5_000 });
  });

  it('closing ends what is under way, and is safe to do twice', async () => {
    const engine = await serve({ synthetic: { batchMs: 2_000 } });
    const online = await connect({ ...optionsFor(targetOf(engine), transport), warmUpTimeoutMs: 10_000 });
    const embedded = ended(online.embed('q', { timeoutMs: 10_000 }));
    const reranked = online.rerank('q', candidates, { timeoutMs: 10_000 });
    await online.close();
    await online.close();
    expect(await embedded).toBe('INFERENCE_UNAVAILABLE');
    expect((await reranked).degraded).toBe('closed');
    await expect(online.embed('q')).rejects.toMatchObject({ code: 'INFERENCE_UNAVAILABLE' });
    expect(online.health()).toMatchObject({ status: 'not-ready' });
  });
});

describe('a peer that accepts and never says a word (T17)', () => {
  it('is waited for as long as the caller said, and an embedding ends in its time', async () => {
    const sockets = new Set<Socket>();
    const server = createServer((socket) => sockets.add(socket.on('error', () => {})));
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    open.push(() => {
      for (const socket of sockets) socket.destroy();
      server.close();
    });
    const { port } = server.address() as { port: number };
    const online = await connect({ ...optionsFor(`127.0.0.1:${port}`, 'stream'), warmUpTimeoutMs: 50 });
    await expect(online.embed('q', { timeoutMs: 300 })).rejects.toMatchObject({ code: 'MODEL_NOT_READY' });
    expect(online.health().embed.ready).toBe(false);
  });
});
