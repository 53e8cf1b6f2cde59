import { describe, expect, it } from 'vitest';
import { canMove, type Phase, type PhaseChange, PhaseTracker, phases } from '../../../src/lifecycle/phase.ts';

describe('the table of moves', () => {
  const allowed: readonly [Phase, Phase][] = [
    ['starting', 'running'],
    ['starting', 'draining'],
    ['starting', 'failed'],
    ['running', 'draining'],
    ['running', 'failed'],
    ['draining', 'stopped'],
    ['draining', 'failed'],
  ];
  for (const from of phases) {
    for (const to of phases) {
      const may = allowed.some(([a, b]) => a === from && b === to);
      it(`${from} ${may ? 'may' : 'may not'} become ${to}`, () => expect(canMove(from, to)).toBe(may));
    }
  }
});

describe('PhaseTracker', () => {
  it('tells every change once, with its time', () => {
    const changes: PhaseChange[] = [];
    const tracker = new PhaseTracker(5, (change) => changes.push(change));
    expect(tracker.move('running', 10)).toBe(true);
    expect(tracker.move('running', 11)).toBe(false);
    expect(tracker.move('draining', 20)).toBe(true);
    expect(changes).toEqual([
      { from: 'starting', to: 'running', atMs: 10 },
      { from: 'running', to: 'draining', atMs: 20 },
    ]);
    expect(tracker.sinceMs).toBe(20);
  });

  it('refuses a move that is not in the table, by name', () => {
    const tracker = new PhaseTracker(0);
    expect(() => tracker.move('stopped', 1)).toThrow('starting cannot become stopped');
    expect(tracker.current).toBe('starting');
  });

  it('keeps the first fatal error', () => {
    const tracker = new PhaseTracker(0);
    const first = new Error('first');
    expect(tracker.fail(first, 1)).toBe(true);
    expect(tracker.fail(new Error('second'), 2)).toBe(false);
    expect(tracker.failure).toBe(first);
    expect(() => tracker.move('running', 3)).toThrow('failed cannot become running');
  });

  it('a stopped process cannot fail afterwards', () => {
    const tracker = new PhaseTracker(0);
    tracker.move('draining', 1);
    tracker.move('stopped', 2);
    expect(tracker.fail(new Error('late'), 3)).toBe(false);
    expect(tracker.failure).toBeUndefined();
  });
});
