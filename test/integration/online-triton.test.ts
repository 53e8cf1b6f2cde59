/** The online module against a real Triton: right answers, a full queue, a stalled model, a silent and a dead server. */
import { afterEach, describe, expect, it } from 'vitest';
import { createOnline, type Online, type OnlineOptions, type Reranked } from '../../online/index.ts';
import { freePort } from '../../scripts/stack/free-port.ts';
import { type RunningTriton, startTriton } from '../../scripts/stack/triton.ts';
import { transports } from '../contract/infer-transport.ts';
import { candidatesOf, onlineContract, optionsFor, patient } from '../contract/online-contract.ts';
import { useTriton } from '../support/stack.ts';

const models = ['online_embedder_ensemble', 'online_reranker_ensemble', 'stalling_reranker'];
const triton = useTriton({ models });

const ranking = {
  query: 'How often should I water a young apple tree?',
  passages: [
    'Young apple trees need water once or twice a week in their first summer.',
    'The compiler rejects a program whose types do not match.',
    'The ferry to the island leaves at noon and returns at six.',
  ],
};

const open: (() => unknown)[] = [];
afterEach(async () => {
  for (const end of open.splice(0).reverse()) await end();
});

async function connect(options: OnlineOptions): Promise<Online> {
  const online = await createOnline(options);
  open.push(() => online.close());
  return online;
}

const candidates = candidatesOf(['a', 'b', 'c']);

function expectIncomingOrder({ results, source }: Reranked) {
  expect(source).toBe('rrf');
  expect(results.map(({ index, score }) => [index, score])).toEqual([
    [0, 1 / 61],
    [1, 1 / 62],
    [2, 1 / 63],
  ]);
}

const ended = <T>(call: Promise<T>) =>
  call.then(
    () => 'ok',
    (error: { code: string }) => error.code,
  );

describe.each(transports)('%s', (transport) => {
  onlineContract(transport, () => ({ target: triton().grpcUrl, ranking }));

  const stalling = (): OnlineOptions => {
    const options = optionsFor(triton().grpcUrl, transport);
    return { ...options, rerank: { ...options.rerank, model: 'stalling_reranker' } };
  };

  it('a stalled model: deadline, open breaker, incoming order; afterwards the reranker again', async () => {
    const online = await connect(stalling());
    const reasons = new Set<unknown>();
    for (let i = 0; i < 30 && online.health().rerank!.ready; i++) {
      const answer = await online.rerank('stall', candidates, { timeoutMs: 35 });
      expectIncomingOrder(answer);
      reasons.add(answer.degraded);
    }
    expect([...reasons]).toEqual(['deadline']);
    expect(online.health()).toMatchObject({ status: 'degraded', rerank: { ready: false } });
    expect((await online.rerank('fine', candidates)).degraded).toBe('breaker-open');
    const again = async () => (await online.rerank('fine', candidates, { timeoutMs: 2_000 })).source;
    await expect.poll(again, { timeout: 20_000, interval: 100 }).toBe('cross-encoder');
    expect(online.health().status).toBe('ready');
  });

  it('a full queue: refused calls come back in the incoming order, and the breaker opens', async () => {
    const online = await connect(stalling());
    const answers: Reranked[] = [];
    const full = candidatesOf(Array.from({ length: 32 }, (_, index) => `p ${index}`));
    for (let round = 0; round < 20 && online.health().rerank!.ready; round++) {
      const calls = Array.from({ length: 16 }, () => online.rerank('stall', full, { timeoutMs: 10_000 }));
      answers.push(...(await Promise.all(calls)));
    }
    expect(online.health().rerank!.ready).toBe(false);
    const reasons = answers.map(({ degraded }) => degraded);
    expect(reasons).toContain('overload');
    expect(answers.every(({ results }) => results.length === 32)).toBe(true);
  });

  it('a query longer than the window leaves the passages their share: the relevant one still comes first (O08)', async () => {
    const online = await connect(optionsFor(triton().grpcUrl, transport));
    const unrelated = [
      'shipping',
      'taxes',
      'football',
      'opera',
      'volcanoes',
      'chess',
      'knitting',
      'railways',
      'coffee',
    ];
    const passages = [...unrelated.map((word) => `A short note about ${word}.`), ranking.passages[0]!];
    for (const repeats of [60, 500]) {
      const query = `${ranking.query} `.repeat(repeats);
      const { results, source } = await online.rerank(query, candidatesOf(passages), patient);
      expect(source).toBe('cross-encoder');
      expect(results[0]!.index).toBe(9);
    }
  });
});

describe('a server of its own', () => {
  async function start(grpcPort?: number): Promise<RunningTriton> {
    const own = await startTriton({ models: ['slow', 'stalling_reranker'], ...(grpcPort && { grpcPort }) });
    open.push(() => own.stop());
    return own;
  }

  const optionsOf = (endpoints: string): OnlineOptions => ({
    embed: { endpoints, model: 'slow', timeoutMs: 2_000 },
    rerank: { endpoints, model: 'stalling_reranker' },
    warmUpTimeoutMs: 60_000,
  });

  it('frozen by SIGSTOP: every call ends and the breakers open; with SIGCONT it answers again', async () => {
    const own = await start();
    const online = await connect(optionsOf(own.grpcUrl));
    await own.kill('SIGSTOP');
    try {
      for (let i = 0; i < 10; i++) {
        const [embedded, reranked] = await Promise.all([
          ended(online.embed('q', { timeoutMs: 15 })),
          online.rerank('q', candidates),
        ]);
        expect(['INFERENCE_DEADLINE', 'BREAKER_OPEN']).toContain(embedded);
        expectIncomingOrder(reranked);
      }
      expect(online.health()).toMatchObject({ status: 'not-ready', embed: { ready: false }, rerank: { ready: false } });
    } finally {
      await own.kill('SIGCONT');
    }
    const both = async () => [
      await ended(online.embed('q')),
      (await online.rerank('q', candidates, { timeoutMs: 2_000 })).source,
    ];
    await expect.poll(both, { timeout: 20_000, interval: 50 }).toEqual(['ok', 'cross-encoder']);
  });

  it('killed, and back on another port of the list: no call fails after the first', async () => {
    const [one, port] = [await start(), await freePort()];
    const online = await connect(optionsOf(`${one.grpcUrl},127.0.0.1:${port}`));
    await ended(online.embed('q'));
    await one.kill();
    await start(port);
    const answered = async () => ended(online.embed('q'));
    await expect.poll(answered, { timeout: 20_000, interval: 50 }).toBe('ok');
    for (let i = 0; i < 10; i++) expect(await answered()).toBe('ok');
  });

  it('a live server whose model is unloaded is not ready, and ready again when it is loaded (T18)', async () => {
    const own = await start();
    const online = await connect(optionsOf(own.grpcUrl));
    const repository = async (deed: 'load' | 'unload') => {
      const url = `${own.httpUrl}/v2/repository/models/stalling_reranker/${deed}`;
      expect((await fetch(url, { method: 'POST', signal: AbortSignal.timeout(30_000) })).status).toBe(200);
    };
    await repository('unload');
    const reason = async () => (await online.rerank('q', candidates, { timeoutMs: 2_000 })).degraded;
    await expect.poll(reason, { timeout: 20_000 }).toMatch(/not-ready|breaker-open/);
    expect(await ended(online.embed('q'))).toBe('ok');
    await repository('load');
    await expect.poll(reason, { timeout: 30_000, interval: 100 }).toBeUndefined();
  });
});
