/** How a search shares its budget. The steps are stand-ins that tell which deadline they were given. */
import { describe, expect, it } from 'vitest';
import type { CallLimits } from '../../../online/budget.ts';
import type { Online, OnlineParts } from '../../../online/online.ts';
import { type Retrieve, runSearch, type SearchOptions } from '../../../online/search.ts';
import { ServingError } from '../../../src/errors.ts';

const EMBED_MS = 15;
const RERANK_MS = 35;

function steps(embedMs: number, retrieveMs: number) {
  let nowMs = 1_000;
  const deadlines: Record<string, number> = {};
  const clock = { monotonicMs: () => nowMs, wallMs: () => 0 };
  const online = {
    embed: async (_: string, { deadline }: CallLimits) => {
      deadlines.embed = Number(deadline) - nowMs;
      nowMs += embedMs;
      return { vector: Float32Array.of(1), fingerprint: 'f', timing: { totalMs: embedMs, requests: 1 } };
    },
    rerank: async (_: string, __: unknown, { deadline }: CallLimits) => {
      deadlines.rerank = Number(deadline) - nowMs;
      return { results: [], source: 'rrf', degraded: 'deadline-near' };
    },
  } as unknown as Online;
  const parts = {
    embed: { timeoutMs: EMBED_MS },
    rerank: { timeoutMs: RERANK_MS },
    searchTimeoutMs: 40,
    clock,
  } as unknown as OnlineParts;
  const retrieve: Retrieve<{ id: string; text: string }> = async (_, { timeoutMs, deadline }) => {
    deadlines.retrieve = timeoutMs;
    expect(deadline - nowMs).toBe(timeoutMs);
    nowMs += retrieveMs;
    return [];
  };
  const search = (options: SearchOptions = {}) => runSearch(online, 'q', retrieve, options, parts);
  return { search, deadlines, online, parts };
}

describe('a search', () => {
  it('gives each step what is left, and the model calls no more than their own limits', async () => {
    const { search, deadlines } = steps(4, 10);
    await search();
    expect(deadlines).toEqual({ embed: 15, retrieve: 36, rerank: 26 });
  });

  it('of 200 ms with 150 ms spent on the way leaves 50 to the reranker (O15)', async () => {
    const { search, deadlines } = steps(50, 100);
    await search({ timeoutMs: 200 });
    expect(deadlines).toEqual({ embed: 75, retrieve: 150, rerank: 50 });
  });

  it('shorter than usual shortens every step', async () => {
    const { search, deadlines } = steps(2, 3);
    await search({ timeoutMs: 10 });
    expect(deadlines).toEqual({ embed: 10, retrieve: 8, rerank: 5 });
  });

  it('refuses a wrong topK before it asks anybody', async () => {
    const { search, deadlines } = steps(0, 0);
    await expect(search({ topK: -1 })).rejects.toMatchObject({ code: 'ARGUMENT_INVALID' });
    expect(deadlines).toEqual({});
  });
});

describe('the retrieval of a search', () => {
  const search = (retrieve: Retrieve<never>, options: SearchOptions) => {
    const { online, parts } = steps(0, 0);
    const clock = { monotonicMs: () => performance.now(), wallMs: () => Date.now() };
    return runSearch(online, 'q', retrieve, options, { ...parts, clock });
  };

  it('that does not end is left behind with RETRIEVAL_DEADLINE, and its signal fires', async () => {
    let seen: AbortSignal | undefined;
    const stuck = search(
      (_, { signal }) => {
        seen = signal;
        return new Promise(() => {});
      },
      { timeoutMs: 20 },
    );
    await expect(stuck).rejects.toMatchObject({ code: 'RETRIEVAL_DEADLINE' });
    expect(seen?.aborted).toBe(true);
  });

  it('that throws because its signal fired is told as what it was', async () => {
    const throwing = search(
      (_, { signal }) =>
        new Promise((_, reject) => signal.addEventListener('abort', () => reject(new Error('stopped')))),
      { timeoutMs: 20 },
    );
    await expect(throwing).rejects.toMatchObject({ code: 'RETRIEVAL_DEADLINE' });
  });

  it('that fails is told to the caller as it failed', async () => {
    const failure = new Error('store is down');
    await expect(search(() => Promise.reject(failure), { timeoutMs: 1_000 })).rejects.toBe(failure);
    const typed = new ServingError('SINK_UNAVAILABLE', 'x');
    await expect(search(() => Promise.reject(typed), { timeoutMs: 1_000 })).rejects.toBe(typed);
  });

  it('ends with the caller', async () => {
    const stop = new AbortController();
    const stuck = search(() => new Promise(() => {}), { timeoutMs: 10_000, signal: stop.signal });
    setImmediate(() => stop.abort());
    await expect(stuck).rejects.toMatchObject({ code: 'INFERENCE_CANCELLED' });
  });
});
