import { describe, expect, it } from 'vitest';
import { isCompactionDue } from '../../../../src/sinks/lancedb/compaction.ts';

const cases = [
  { name: 'too few commits', commitsSince: 31, lastDurationMs: 0, restedMs: 1e9, due: false },
  { name: 'enough commits, never compacted', commitsSince: 32, lastDurationMs: 0, restedMs: 0, due: true },
  { name: 'the last one took 400 ms, 1.5 s ago', commitsSince: 500, lastDurationMs: 400, restedMs: 1_500, due: false },
  { name: 'the last one took 400 ms, 1.6 s ago', commitsSince: 500, lastDurationMs: 400, restedMs: 1_600, due: true },
];

describe('isCompactionDue', () => {
  for (const { name, commitsSince, lastDurationMs, restedMs, due } of cases) {
    it(`${name}: ${due ? 'due' : 'not due'}`, () => {
      expect(isCompactionDue({ commitsSince, lastDurationMs, lastEndedAtMs: 1_000 }, 32, 1_000 + restedMs)).toBe(due);
    });
  }
});
