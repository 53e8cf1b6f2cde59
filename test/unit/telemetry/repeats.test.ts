import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type RepeatLimits, Repeats, repeatKey } from '../../../src/telemetry/repeats.ts';

const limits: RepeatLimits = { windowMs: 10_000, maxKinds: 3 };

/** What is written for `[time, key, line]` in turn, and at the end. */
function written(lines: readonly (readonly [at: number, key: string, line: string])[], own = limits): string[] {
  const repeats = new Repeats<string>(own);
  const out: string[] = [];
  const sum = (summaries: readonly { line: string; repeated: number }[]) =>
    summaries.forEach(({ line, repeated }) => void out.push(`${line} ×${repeated}`));
  for (const [at, key, line] of lines) {
    const { write, summaries } = repeats.see(key, line, at);
    sum(summaries);
    if (write) out.push(line);
  }
  sum(repeats.flush());
  return out;
}

describe('Repeats', () => {
  it('the first of a kind at once, the rest of its window as the newest with their number', () => {
    const lines = [0, 1, 2, 9_999].map((at, i) => [at, 'a', `a${i}`] as const);
    expect(written([...lines, [10_000, 'b', 'b0']])).toEqual(['a0', 'a3 ×3', 'b0']);
  });

  it('another kind is not held back', () => {
    expect(
      written([
        [0, 'a', 'a0'],
        [0, 'b', 'b0'],
        [1, 'a', 'a1'],
        [1, 'b', 'b1'],
      ]),
    ).toEqual(['a0', 'b0', 'a1 ×1', 'b1 ×1']);
  });

  it('what comes after a quiet window is news again', () => {
    expect(
      written([
        [0, 'a', 'a0'],
        [10_000, 'a', 'a1'],
      ]),
    ).toEqual(['a0', 'a1']);
  });

  it('a storm costs one line a window, however long', () => {
    const storm = Array.from({ length: 600 }, (_, i) => [i * 100, 'a', `a${i}`] as const);
    const lines = written(storm);
    expect(lines).toHaveLength(7);
    expect(lines[1]).toBe('a99 ×99');
  });

  it('too many kinds: the oldest is let go with its summary, and nothing grows', () => {
    const lines = ['a', 'a', 'b', 'c', 'd', 'a'].map((key, i) => [i, key, `${key}${i}`] as const);
    expect(written(lines)).toEqual(['a0', 'b2', 'c3', 'a1 ×1', 'd4', 'a5']);
  });

  it('says when something is due', () => {
    const repeats = new Repeats<string>(limits);
    repeats.see('a', 'a0', 5);
    expect(repeats.nextDueMs).toBeUndefined();
    repeats.see('a', 'a1', 6);
    expect(repeats.nextDueMs).toBe(10_005);
    expect(repeats.due(10_004)).toEqual([]);
    expect(repeats.due(10_005)).toEqual([{ line: 'a1', repeated: 1 }]);
    expect(repeats.nextDueMs).toBeUndefined();
  });

  it('every line is written or counted, once, whatever comes', () => {
    const line = fc.tuple(fc.integer({ min: 0, max: 5_000 }), fc.constantFrom('a', 'b', 'c', 'd', 'e'));
    fc.assert(
      fc.property(fc.array(line, { maxLength: 200 }), (steps) => {
        let at = 0;
        const lines = steps.map(([wait, key]) => [(at += wait), key, key] as const);
        const told = written(lines).reduce((sum, one) => sum + Number(/×(\d+)$/.exec(one)?.[1] ?? 1), 0);
        expect(told).toBe(lines.length);
      }),
    );
  });
});

describe('what makes two lines the same', () => {
  const key = (fields: object) => repeatKey('', 'WARNING e', fields as Record<string, unknown>);
  it('not their attempts, times and counts', () => {
    expect(key({ stage: 'embed', attempt: 1, tookMs: 7 })).toBe(key({ stage: 'embed', attempt: 2, tookMs: 8 }));
  });
  it('but stage, code, partition, slot and the code of the error', () => {
    const all = [
      { stage: 'embed' },
      { stage: 'persist' },
      { slot: 1 },
      { slot: 2 },
      { partition: 2 },
      { isLast: true },
      { error: { type: 'ServingError', code: 'A' } },
      { error: { type: 'ServingError', code: 'B' } },
    ];
    expect(new Set(all.map(key)).size).toBe(all.length);
  });
  it('and whose child says it', () => {
    expect(repeatKey('topic=a', 'e', {})).not.toBe(repeatKey('topic=b', 'e', {}));
  });
});
