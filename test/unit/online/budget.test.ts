import { describe, expect, it } from 'vitest';
import { budgetOf, type CallLimits, partOf } from '../../../online/budget.ts';

const clock = { monotonicMs: () => 1_000, wallMs: () => Date.UTC(2030, 0, 1, 23, 59, 59, 999) };
const deadlineOf = (limits: CallLimits) => budgetOf(limits, 15, clock).deadlineMs;
const refused = expect.objectContaining({ code: 'ARGUMENT_INVALID' });

describe('budgetOf', () => {
  it('takes the default, a duration, a point on the clock of performance.now(), or a Date', () => {
    expect(deadlineOf({})).toBe(1_015);
    expect(deadlineOf({ timeoutMs: 0.5 })).toBe(1_000.5);
    expect(deadlineOf({ deadline: 1_007.25 })).toBe(1_007.25);
  });

  it('a Date at midnight is as far away as it is (O15)', () => {
    expect(deadlineOf({ deadline: new Date(clock.wallMs() + 20) })).toBe(1_020);
  });

  it('the earlier of two holds', () => {
    expect(deadlineOf({ timeoutMs: 10, deadline: 1_005 })).toBe(1_005);
    expect(deadlineOf({ timeoutMs: 3, deadline: 1_005 })).toBe(1_003);
  });

  it('a deadline that is past stays past', () => {
    expect(deadlineOf({ deadline: 3 })).toBe(3);
    expect(deadlineOf({ deadline: Number.NEGATIVE_INFINITY })).toBe(Number.NEGATIVE_INFINITY);
    expect(deadlineOf({ deadline: new Date(0) })).toBeLessThan(0);
  });

  it.each([0, -1, Number.NaN, 2 ** 31, Number.POSITIVE_INFINITY])(
    'a timeout of %s is an argument error (O15)',
    (ms) => {
      expect(() => deadlineOf({ timeoutMs: ms })).toThrow(refused);
    },
  );

  it.each([Number.NaN, Number.POSITIVE_INFINITY, clock.wallMs() + 15, new Date(Number.NaN), 'soon' as never])(
    'a deadline of %s is an argument error, not a call without one (O15)',
    (deadline) => {
      expect(() => deadlineOf({ deadline })).toThrow(refused);
    },
  );

  it('a signal that has fired ends the call before it begins', () => {
    expect(() => budgetOf({ signal: AbortSignal.abort() }, 15, clock)).toThrow(
      expect.objectContaining({ code: 'INFERENCE_CANCELLED' }),
    );
  });

  it('keeps a trace context and leaves out what is none', () => {
    const traceparent = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01';
    expect(budgetOf({ traceparent }, 15, clock).traceparent).toBe(traceparent);
    for (const other of ['', 'x', `${traceparent}\r\nx: y`, traceparent.toUpperCase()]) {
      expect(budgetOf({ traceparent: other }, 15, clock).traceparent).toBeUndefined();
    }
  });
});

describe('partOf', () => {
  it('never ends after the whole', () => {
    const budget = budgetOf({ timeoutMs: 40 }, 15, clock);
    expect(partOf(budget, 15, 1_000).deadlineMs).toBe(1_015);
    expect(partOf(budget, 35, 1_020).deadlineMs).toBe(1_040);
  });
});
