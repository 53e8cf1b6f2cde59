/** What the online module promises, whichever server answers and whichever way the requests travel. */
import { afterAll, beforeAll, expect, it } from 'vitest';
import { embedRequest } from '../../online/embedder.ts';
import { type Candidate, createOnline, type Online, type OnlineOptions } from '../../online/index.ts';
import { decodeFp16 } from '../../src/kserve/fp16.ts';
import { embedderContract } from '../../src/kserve/model-contract.ts';
import { openTransport, type TransportName } from './infer-transport.ts';

export type OnlineServer = {
  readonly target: string;
  /** A query and passages for it, the best one first. */
  readonly ranking: { readonly query: string; readonly passages: readonly string[] };
};

/** The test models answer on one CPU: what is tested here is what, not when. */
export const patient = { timeoutMs: 60_000 } as const;

export function optionsFor(target: string, transport: TransportName): OnlineOptions {
  const pool = { endpoints: target, transport } as const;
  return { embed: pool, rerank: pool, warmUpTimeoutMs: 60_000 };
}

export function candidatesOf(texts: readonly string[]): Candidate[] {
  return texts.map((text, index) => ({ id: `c${index}`, text }));
}

export function onlineContract(transport: TransportName, server: () => OnlineServer): void {
  let online: Online;
  beforeAll(async () => {
    online = await createOnline(optionsFor(server().target, transport));
  });
  afterAll(() => online?.close());

  it('is ready when it has been made', () => {
    expect(online.health()).toMatchObject({ status: 'ready', embed: { ready: true }, rerank: { ready: true } });
  });

  it('embeds a query as the model does, and tells whose vector it is', async () => {
    const { vector, vectors, fingerprint, timing } = await online.embed('Ein Stück Text: 你好 🚀', patient);
    const client = openTransport(server().target, 'unary');
    try {
      const model = embedderContract(await client.describeModel('online_embedder_ensemble', patient));
      const { outputs } = await client.infer(embedRequest(model, ['Ein Stück Text: 你好 🚀']), patient);
      const data = outputs[0]!.data;
      expect(vector).toEqual(data.kind === 'inline' ? decodeFp16(data.bytes) : undefined);
      expect(fingerprint).toBe(model.fingerprint);
    } finally {
      client.close();
    }
    expect(vectors).toEqual([vector]);
    expect(timing.requests).toBe(1);
    expect(online.health().embed.fingerprint).toBe(fingerprint);
  });

  it('sends 65 texts in requests that the model takes and keeps their order (T12)', async () => {
    const texts = Array.from({ length: 65 }, (_, index) => `number ${index}`);
    const { vectors, timing } = await online.embed(texts, patient);
    expect(timing.requests).toBe(3);
    for (const index of [0, 31, 32, 63, 64]) {
      const { vector } = await online.embed(texts[index]!, patient);
      // A model's sums may differ by a rounding with what else is in the batch.
      const distance = Math.hypot(...vector.map((value, i) => value - vectors[index]![i]!));
      expect(distance).toBeLessThan(0.05);
    }
  });

  it('puts the best passage first, with its place among those given', async () => {
    const { query, passages } = server().ranking;
    const given = candidatesOf([...passages].reverse());
    const { results, source, degraded } = await online.rerank(query, given, patient);
    expect({ source, degraded }).toEqual({ source: 'cross-encoder', degraded: undefined });
    expect(results[0]).toMatchObject({ id: `c${passages.length - 1}`, index: passages.length - 1, rank: 1 });
    expect(results.map(({ rank }) => rank)).toEqual(passages.map((_, index) => index + 1));
    const scores = results.map(({ score }) => score);
    expect([...scores].sort((a, b) => b - a)).toEqual(scores);
  });

  it('no candidates and no queries ask nobody; one candidate has a finite score (O01)', async () => {
    const nothing = await online.rerank('q', [], patient);
    expect(nothing).toMatchObject({ results: [], timing: { requests: 0 } });
    expect(await online.embed([], patient)).toMatchObject({ vectors: [], timing: { requests: 0 } });
    const { results, source } = await online.rerank('q', candidatesOf(['only one']), patient);
    expect(source).toBe('cross-encoder');
    expect(results).toMatchObject([{ id: 'c0', index: 0, rank: 1 }]);
    expect(results[0]!.score).toSatisfy(Number.isFinite);
  });

  it('odd texts are ranked like others: blank, twice the same id, half a character, NUL', async () => {
    const odd = ['', ' ', 'a\ud800b', '\udfff', 'with\0nul', '🚀'].map((text) => ({ id: 'same', text }));
    const { results, source } = await online.rerank('a\ud800 query', odd, patient);
    expect(source).toBe('cross-encoder');
    expect(results.map(({ index }) => index).sort()).toEqual([0, 1, 2, 3, 4, 5]);
  });

  it('a text of a megabyte is cut, counted, and takes no neighbour with it (P13)', async () => {
    const before = online.stats().pools;
    const given = candidatesOf(['short', 'word '.repeat(200_000), 'x'.repeat(1 << 20)]);
    const { results, source } = await online.rerank('q', given, patient);
    expect(source).toBe('cross-encoder');
    expect(results).toHaveLength(3);
    await online.embed('word '.repeat(20_000), patient);
    const { pools } = online.stats();
    expect(pools.rerank.cutTexts - before.rerank.cutTexts).toBe(2);
    expect(pools.embed.cutTexts - before.embed.cutTexts).toBe(1);
  });

  it('hands the trace context on, and leaves out what is none', async () => {
    const traceparent = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01';
    for (const given of [traceparent, 'no trace', '\r\nx: y']) {
      const { vectors } = await online.embed('q', { ...patient, traceparent: given });
      expect(vectors).toHaveLength(1);
    }
  });

  it('a search embeds, retrieves and reranks within one budget', async () => {
    const { query, passages } = server().ranking;
    const given = candidatesOf(passages.toReversed());
    let dims = 0;
    const found = await online.search(
      query,
      async (vector, { fingerprint, timeoutMs, signal }) => {
        dims = vector.length;
        expect(fingerprint).toBe(online.health().embed.fingerprint);
        expect(timeoutMs).toBeLessThanOrEqual(patient.timeoutMs);
        expect(signal.aborted).toBe(false);
        return given;
      },
      { ...patient, topK: 1 },
    );
    expect(dims).toBe(384);
    expect(found.candidates).toBe(given);
    expect(found.results).toMatchObject([{ index: passages.length - 1, rank: 1 }]);
  });

  it('a call that its caller ends, or has ended, is INFERENCE_CANCELLED', async () => {
    const cancelled = { code: 'INFERENCE_CANCELLED' };
    const gone = AbortSignal.abort();
    await expect(online.embed('q', { signal: gone })).rejects.toMatchObject(cancelled);
    await expect(online.rerank('q', candidatesOf(['a']), { signal: gone })).rejects.toMatchObject(cancelled);
    const stop = new AbortController();
    const many = candidatesOf(Array.from({ length: 100 }, (_, index) => `p ${index}`));
    const calls = [
      online.embed('q', { ...patient, signal: stop.signal }),
      online.rerank('q', many, { ...patient, signal: stop.signal }),
    ];
    stop.abort();
    for (const end of await Promise.allSettled(calls)) {
      expect(end).toMatchObject({ status: 'rejected', reason: cancelled });
    }
    await expect.poll(() => online.stats().pools).toMatchObject({ embed: { inFlight: 0 }, rerank: { inFlight: 0 } });
  });
}
