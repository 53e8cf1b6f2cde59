import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { drainBudgetMs, fitsBefore, keptForFarewellMs } from '../../../src/lifecycle/drain-budget.ts';
import { type Pace, PaceBoard, RunningAverage } from '../../../src/lifecycle/pace.ts';

const unmeasured: Pace = { batchMs: undefined, storeMs: undefined, commitMs: undefined };

describe('drainBudgetMs', () => {
  it.for<[name: string, leftMs: number | undefined, marginMs: number, timeoutMs: number | undefined, budget: number]>([
    ['a signal without a notice', undefined, 2_000, 25_000, 25_000],
    ['AWS: two minutes', 120_000, 2_000, undefined, 118_000],
    ['Azure: 30 s', 30_000, 2_000, undefined, 28_000],
    ['GKE: 15 s', 15_000, 2_000, undefined, 13_000],
    ['a signal after a notice shortens', 118_000, 2_000, 25_000, 25_000],
    ['a signal after a notice never lengthens', 15_000, 2_000, 25_000, 13_000],
    ['a margin as long as what is left', 2_000, 2_000, undefined, 1_000],
    ['a margin longer than what is left', 10_000, 60_000, undefined, 5_000],
    ['a deadline that has passed still commits', 0, 2_000, undefined, 1_000],
  ])('%s', ([, leftMs, marginMs, timeoutMs, budget]) => {
    expect(drainBudgetMs({ leftMs, marginMs, timeoutMs })).toBe(budget);
  });
});

describe('keptForFarewellMs', () => {
  it.for<[name: string, budgetMs: number, commitMs: number | undefined, kept: number]>([
    ['a quarter', 20_000, undefined, 5_000],
    ['some seconds at most', 118_000, 20, 6_250],
    ['slow commits have their time', 20_000, 2_000, 6_750],
    ['never more than half', 13_000, 30_000, 6_500],
    ['a short budget keeps enough to leave the group', 2_000, 10, 780],
    ['the shortest keeps half', 1_000, undefined, 500],
  ])('%s', ([, budgetMs, commitMs, kept]) => {
    expect(keptForFarewellMs(budgetMs, { ...unmeasured, commitMs })).toBe(kept);
  });

  it('leaves time for work and for the farewell whatever was measured', () => {
    const ms = fc.double({ min: 0, max: 1e9, noNaN: true });
    fc.assert(
      fc.property(fc.double({ min: 1_000, max: 1e9, noNaN: true }), ms, (budgetMs, commitMs) => {
        const kept = keptForFarewellMs(budgetMs, { ...unmeasured, commitMs });
        expect(kept).toBeGreaterThan(0);
        expect(budgetMs - kept).toBeGreaterThanOrEqual(budgetMs / 2);
      }),
    );
  });
});

describe('fitsBefore', () => {
  it.for<[name: string, nowMs: number, pace: Partial<Pace>, fits: boolean]>([
    ['nothing measured, time left', 9_999, {}, true],
    ['nothing measured, time over', 10_000, {}, false],
    ['a batch that just fits', 0, { batchMs: 9_000, storeMs: 999 }, true],
    ['a batch whose store write comes too late', 0, { batchMs: 9_000, storeMs: 1_000 }, false],
    ['a batch slower than the budget', 0, { batchMs: 10_001 }, false],
  ])('%s', ([, nowMs, pace, fits]) => {
    expect(fitsBefore(10_000, nowMs, { ...unmeasured, ...pace })).toBe(fits);
  });
});

describe('RunningAverage', () => {
  it('is not known before the first sample, then follows the newer ones', () => {
    const average = new RunningAverage();
    expect(average.value).toBeUndefined();
    average.add(100);
    expect(average.value).toBe(100);
    average.add(200);
    expect(average.value).toBe(125);
    for (let i = 0; i < 30; i++) average.add(1_000);
    expect(average.value).toBeGreaterThan(990);
  });

  it('passes over what is no duration', () => {
    const board = new PaceBoard();
    for (const sample of [Number.NaN, Number.POSITIVE_INFINITY, -1]) board.commit.add(sample);
    expect(board.pace).toEqual(unmeasured);
  });
});
