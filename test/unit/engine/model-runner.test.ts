import { describe, expect, it } from 'vitest';
import { systemClock } from '../../../src/clock.ts';
import type { Columns, Compute, ComputeResult } from '../../../src/engine/compute.ts';
import { ModelRunner, type Submission } from '../../../src/engine/model-runner.ts';
import { modelSpec } from '../../../src/engine/model-spec.ts';
import type { WireFault } from '../../../src/engine/wire-fault.ts';

const base = {
  platform: 'synthetic',
  dims: 8,
  fingerprint: 'f',
  parameters: {},
  scoredBy: 'nothing',
  maxQueueSize: 0,
  defaultTimeoutUs: 0,
  queueDelayUs: 0,
};

/** Executions end when the test says so. */
class HeldCompute implements Compute {
  readonly sizes: number[] = [];
  #release: (() => void)[] = [];

  run(requests: readonly Columns[]): Promise<readonly ComputeResult[]> {
    this.sizes.push(requests.length);
    return new Promise((resolve) => {
      this.#release.push(() => resolve(requests.map((columns) => columns[0]![0]!)));
    });
  }

  release(): void {
    this.#release.shift()!();
  }
}

function request(text: string, overrides: Partial<Submission> = {}): Submission {
  return { columns: [[Buffer.from(text)]], rows: 1, id: text, timeoutUs: 0, ...overrides };
}

const textOf = (bytes: Uint8Array) => Buffer.from(bytes).toString();
const faultOf = (promise: Promise<unknown>) =>
  promise.then(
    () => undefined,
    (error: WireFault) => error,
  );

describe('ModelRunner', () => {
  it('runs together what came while it was busy, and gives each its own answer', async () => {
    const compute = new HeldCompute();
    const runner = new ModelRunner(modelSpec('online-embedder', base), compute, systemClock);
    const answers = ['a', 'b', 'c'].map((text) => runner.submit(request(text)));
    expect(runner.pending).toBe(2);
    compute.release();
    await answers[0];
    await new Promise((resolve) => setImmediate(resolve));
    expect(compute.sizes).toEqual([1, 2]);
    compute.release();
    expect((await Promise.all(answers)).map(({ rows }) => textOf(rows))).toEqual(['a', 'b', 'c']);
    expect(runner.statistics.executions).toBe(2);
  });

  it('refuses with the words of Triton what does not fit in the queue', async () => {
    const compute = new HeldCompute();
    const spec = modelSpec('batch-embedder', { ...base, maxQueueSize: 1 });
    const runner = new ModelRunner(spec, compute, systemClock);
    const running = runner.submit(request('running'));
    const waiting = runner.submit(request('waiting'));
    const refused = await faultOf(runner.submit(request('r7')));
    expect(refused).toMatchObject({
      status: 'UNAVAILABLE',
      reason: 'REJECTED',
      message: "in ensemble 'batch_embedder_ensemble', [request id: r7] Exceeds maximum queue size",
    });
    compute.release();
    await running;
    await new Promise((resolve) => setImmediate(resolve));
    compute.release();
    await waiting;
  });

  it('times out what waited too long, once it is free', async () => {
    const compute = new HeldCompute();
    const runner = new ModelRunner(modelSpec('batch-embedder', base), compute, systemClock);
    const running = runner.submit(request('running'));
    const hasty = faultOf(runner.submit(request('hasty', { timeoutUs: 1_000 })));
    await new Promise((resolve) => setTimeout(resolve, 10));
    compute.release();
    await running;
    expect(await hasty).toMatchObject({
      status: 'UNAVAILABLE',
      message: "in ensemble 'batch_embedder_ensemble', Request timeout expired",
    });
  });

  it('withdraws a waiting request whose client has gone, and ends one that runs', async () => {
    const compute = new HeldCompute();
    const runner = new ModelRunner(modelSpec('batch-embedder', base), compute, systemClock);
    const gone = new AbortController();
    const running = runner.submit(request('running'), gone.signal);
    const waiting = faultOf(runner.submit(request('waiting'), gone.signal));
    gone.abort();
    expect(await waiting).toMatchObject({ status: 'CANCELLED', reason: 'CANCELED' });
    expect(runner.pending).toBe(0);
    compute.release();
    expect(textOf((await running).rows)).toBe('running');
  });

  it('fails only its own batch when the compute throws', async () => {
    let calls = 0;
    const compute: Compute = {
      run: async (requests) => {
        if (calls++ === 0) throw new Error('text that must not leak');
        return requests.map((columns) => columns[0]![0]!);
      },
    };
    const runner = new ModelRunner(modelSpec('batch-embedder', base), compute, systemClock);
    const fault = await faultOf(runner.submit(request('a')));
    expect(fault).toMatchObject({ status: 'INTERNAL' });
    expect(fault!.message).not.toContain('leak');
    expect(textOf((await runner.submit(request('b'))).rows)).toBe('b');
  });

  it('drains: answers what it has and refuses what is new', async () => {
    const compute = new HeldCompute();
    const runner = new ModelRunner(modelSpec('batch-embedder', base), compute, systemClock);
    const running = runner.submit(request('running'));
    const drained = runner.drain();
    expect(await faultOf(runner.submit(request('late')))).toMatchObject({ status: 'UNAVAILABLE' });
    compute.release();
    await running;
    await drained;
  });
});
