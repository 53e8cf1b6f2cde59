/** Admission and splitting, with a client whose answers the test gives itself: a real server cannot be held so exactly. */
import { describe, expect, it } from 'vitest';
import type { OnlineEvents } from '../../../online/events.ts';
import { ModelPool, type PoolCall } from '../../../online/model-pool.ts';
import { ServingError } from '../../../src/errors.ts';
import type { CallOptions, InferenceClient } from '../../../src/inference/client.ts';
import type { InferRequest, InferResponse } from '../../../src/kserve/tensor.ts';

const contract = { modelName: 'm', maxBatch: 4 };
const answer: InferResponse = { modelName: 'm', modelVersion: '1', id: '', outputs: [] };
const events: OnlineEvents = {
  ended() {},
  degraded() {},
  inFlight() {},
  breaker() {},
  left() {},
  cut() {},
  asked() {},
};

type Asked = { options: CallOptions; answer(): void; fail(error: ServingError): void };

function held() {
  const asked: Asked[] = [];
  const client = {
    target: 'x',
    infer: (_request: InferRequest, options: CallOptions) =>
      new Promise<InferResponse>((resolve, reject) => {
        asked.push({ options, answer: () => resolve(answer), fail: reject });
        options.signal?.addEventListener('abort', () => reject(new ServingError('INFERENCE_CANCELLED', 'x')));
      }),
    close() {},
  } as unknown as InferenceClient;
  const pool = new ModelPool<typeof contract>({ name: 'embed', client, maxInFlight: 4, leastMs: 5 }, events);
  pool.seen(contract);
  return { pool, asked };
}

const parts: [number, number][] = [];
const call = (rows: number): PoolCall<typeof contract> => {
  parts.length = 0;
  return {
    rows,
    request: (_, from, to) => {
      parts.push([from, to]);
      return { modelName: 'm', inputs: [], outputs: [] };
    },
    take() {},
  };
};
const budget = (signal?: AbortSignal) => ({
  deadlineMs: performance.now() + 60_000,
  signal,
  traceparent: undefined,
});
const settled = () => new Promise<void>((resolve) => setImmediate(resolve));

describe('ModelPool', () => {
  it('a large call takes half of the permits and goes on as they come back', async () => {
    const { pool, asked } = held();
    const large = pool.run(call(18), budget());
    expect(asked).toHaveLength(2);
    for (let done = 0; done < 5; done++) {
      asked[done]!.answer();
      await settled();
      expect(asked).toHaveLength(Math.min(5, done + 3));
    }
    expect(await large).toMatchObject({ requests: 5 });
    expect(parts).toEqual([
      [0, 4],
      [4, 8],
      [8, 12],
      [12, 16],
      [16, 18],
    ]);
  });

  it('without a free permit a call fails at once; a large call leaves room for small ones', async () => {
    const { pool, asked } = held();
    const running = [pool.run(call(100), budget()), pool.run(call(1), budget()), pool.run(call(1), budget())];
    await expect(pool.run(call(1), budget())).rejects.toMatchObject({ code: 'OVERLOADED' });
    asked[3]!.answer();
    await running[2];
    const next = pool.run(call(1), budget());
    asked[4]!.answer();
    await next;
    for (const one of asked) one.fail(new ServingError('INFERENCE_FAILED', 'x'));
    expect((await Promise.allSettled(running)).map(({ status }) => status)).toEqual([
      'rejected',
      'rejected',
      'fulfilled',
    ]);
  });

  it('the first request that fails ends the others of its call, and every permit comes back', async () => {
    const { pool, asked } = held();
    const failing = pool.run(call(100), budget());
    asked[0]!.fail(new ServingError('INFERENCE_DEADLINE', 'x'));
    await expect(failing).rejects.toMatchObject({ code: 'INFERENCE_DEADLINE' });
    expect(asked[1]!.options.signal?.aborted).toBe(true);
    await settled();
    expect(asked).toHaveLength(2);
    for (let i = 0; i < 4; i++) void pool.run(call(1), budget()).catch(() => {});
    expect(asked).toHaveLength(6);
  });

  it('a caller that gives up frees its permits and its listener', async () => {
    const { pool, asked } = held();
    const stop = new AbortController();
    const large = pool.run(call(100), budget(stop.signal));
    stop.abort(new Error('enough'));
    await expect(large).rejects.toMatchObject({ code: 'INFERENCE_CANCELLED' });
    for (let i = 0; i < 4; i++) void pool.run(call(1), budget()).catch(() => {});
    expect(asked).toHaveLength(6);
  });

  it('no rows cost no request', async () => {
    const { pool, asked } = held();
    expect(await pool.run(call(0), budget())).toMatchObject({ requests: 0 });
    expect(asked).toEqual([]);
  });

  it('a model that is not what is expected is told as that, one that was not seen as not ready', async () => {
    const { pool } = held();
    pool.missing(new ServingError('INFERENCE_UNAVAILABLE', 'away'));
    expect(pool.contract).toBe(contract);
    pool.missing(new ServingError('MODEL_CONTRACT_MISMATCH', 'other'));
    await expect(pool.run(call(1), budget())).rejects.toMatchObject({ code: 'MODEL_CONTRACT_MISMATCH' });
  });
});
