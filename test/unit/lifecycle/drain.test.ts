import { describe, expect, it } from 'vitest';
import { Drain, type DrainOptions, type DrainStep, type Timers } from '../../../src/lifecycle/drain.ts';

/** Time that moves only when told; due callbacks run in order of time. */
class HandTime implements Timers {
  now = 0;
  readonly #waiting = new Set<{ at: number; callback: () => void }>();

  after(milliseconds: number, callback: () => void): () => void {
    const entry = { at: this.now + milliseconds, callback };
    this.#waiting.add(entry);
    return () => this.#waiting.delete(entry);
  }

  get pending(): number {
    return this.#waiting.size;
  }

  async pass(milliseconds: number): Promise<void> {
    const until = this.now + milliseconds;
    await settle();
    for (;;) {
      const due = [...this.#waiting].filter(({ at }) => at <= until).sort((a, b) => a.at - b.at)[0];
      if (due === undefined) break;
      this.#waiting.delete(due);
      this.now = due.at;
      due.callback();
      await settle();
    }
    this.now = until;
  }
}

async function settle(): Promise<void> {
  for (let turn = 0; turn < 20; turn++) await Promise.resolve();
}

function drainOf(steps: readonly DrainStep[], budgetMs: number, more: Partial<DrainOptions> = {}) {
  const time = new HandTime();
  const clock = { monotonicMs: () => time.now, wallMs: () => time.now };
  return { time, drain: new Drain(steps, { budgetMs, clock, timers: time, ...more }) };
}

const hang: DrainStep['run'] = () => new Promise(() => {});
const untilAborted: DrainStep['run'] = (signal) =>
  new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)));

describe('Drain', () => {
  it('runs steps in order and reports a complete drain', async () => {
    const ran: string[] = [];
    const { drain } = drainOf(
      ['stop fetching', 'commit', 'leave'].map((name) => ({ name, run: () => void ran.push(name) })),
      1_000,
    );
    const report = await drain.run();
    expect(ran).toEqual(['stop fetching', 'commit', 'leave']);
    expect(report.complete).toBe(true);
  });

  it('runs every step although one throws and one rejects', async () => {
    const ran: string[] = [];
    const boom = new Error('boom');
    const { drain } = drainOf(
      [
        {
          name: 'throws',
          run: () => {
            throw boom;
          },
        },
        { name: 'rejects', run: () => Promise.reject(boom) },
        { name: 'last', run: () => void ran.push('last') },
      ],
      1_000,
    );
    const report = await drain.run();
    expect(ran).toEqual(['last']);
    expect(report.complete).toBe(false);
    expect(report.steps.map(({ result }) => result)).toEqual(['failed', 'failed', 'done']);
    expect(report.steps[0]?.error).toBe(boom);
  });

  it('a step whose close() never returns is left behind at its limit (R06)', async () => {
    const { time, drain } = drainOf(
      [
        { name: 'close retries', limitMs: 100, run: hang },
        { name: 'close gRPC', run: () => {} },
      ],
      10_000,
      { abortGraceMs: 50 },
    );
    const report = drain.run();
    await time.pass(149);
    expect(time.now).toBe(149);
    await time.pass(1);
    expect((await report).steps).toMatchObject([
      { name: 'close retries', result: 'timed-out', tookMs: 150 },
      { name: 'close gRPC', result: 'done' },
    ]);
  });

  it('leaves a quarter of the budget to the steps after the wait', async () => {
    const { time, drain } = drainOf(
      [
        { name: 'wait for work in flight', keepMs: (budgetMs) => budgetMs / 4, run: untilAborted },
        { name: 'commit', run: () => {} },
      ],
      20_000,
    );
    const report = drain.run();
    await time.pass(15_000);
    expect(await report).toMatchObject({ tookMs: 15_000, complete: false });
  });

  it('gives a late step its minimum after the budget is spent', async () => {
    const seen: boolean[] = [];
    const { time, drain } = drainOf(
      [
        { name: 'spends all', run: hang },
        {
          name: 'commit',
          run: async (signal) => {
            seen.push(signal.aborted);
            await untilAborted(signal, () => 0);
          },
        },
      ],
      1_000,
      { minStepMs: 300, abortGraceMs: 10 },
    );
    const report = drain.run();
    await time.pass(1_310);
    expect(seen).toEqual([false]);
    expect((await report).steps[1]).toMatchObject({ result: 'timed-out', tookMs: 300 });
  });

  it('a second signal shortens the running step and runs the rest once (L03)', async () => {
    const commits: number[] = [];
    const { time, drain } = drainOf(
      [
        { name: 'wait', keepMs: (budgetMs) => budgetMs / 4, run: untilAborted },
        { name: 'commit', run: () => void commits.push(1) },
      ],
      60_000,
    );
    const first = drain.run();
    await time.pass(200);
    drain.hurry(3_000);
    const second = drain.run();
    expect(second).toBe(first);
    await time.pass(3_000);
    expect((await first).tookMs).toBeLessThanOrEqual(3_200);
    expect(commits).toEqual([1]);
  });

  it('hurrying keeps a share of the new budget, and tells the running step of its nearer limit', async () => {
    let limitAt = () => 0;
    const wait: DrainStep = {
      name: 'wait',
      keepMs: (budgetMs) => budgetMs / 4,
      run: (signal, limit) => {
        limitAt = limit;
        return untilAborted(signal, limit);
      },
    };
    const { time, drain } = drainOf([wait], 20_000);
    const report = drain.run();
    await time.pass(10_000);
    expect(limitAt()).toBe(15_000);
    drain.hurry(2_000);
    expect(limitAt()).toBe(11_500);
    drain.hurry(60_000);
    expect(limitAt()).toBe(11_500);
    await time.pass(5_000);
    expect((await report).tookMs).toBe(11_500);
  });

  it('hurry never makes the budget longer', async () => {
    const { time, drain } = drainOf([{ name: 'wait', run: untilAborted }], 500);
    const report = drain.run();
    drain.hurry(60_000);
    await time.pass(500);
    expect((await report).tookMs).toBe(500);
  });

  it('leaves no timer behind', async () => {
    const { time, drain } = drainOf([{ name: 'quick', run: () => {} }], 60_000);
    await drain.run();
    expect(time.pending).toBe(0);
  });

  it('tells each step as it ends', async () => {
    const told: string[] = [];
    const { drain } = drainOf(
      [
        { name: 'a', run: () => {} },
        { name: 'b', run: () => Promise.reject(new Error('x')) },
      ],
      100,
      { onStep: ({ name, result }) => told.push(`${name} ${result}`) },
    );
    await drain.run();
    expect(told).toEqual(['a done', 'b failed']);
  });
});
