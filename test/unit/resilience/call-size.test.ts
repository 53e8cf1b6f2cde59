import { describe, expect, it } from 'vitest';
import { CallSize } from '../../../src/resilience/call-size.ts';

/** Calls one after another at a server that takes `msARow`; the sizes they asked for, and how many missed the deadline. */
function callsAt(msARow: number, calls: number, { limit = 256, sideBySide = 1 } = {}) {
  const size = new CallSize(limit);
  const asked: number[] = [];
  let missed = 0;
  for (let call = 0; call < calls; call++) {
    const begunWith = size.rows;
    asked.push(begunWith);
    const share = (begunWith * sideBySide * msARow) / 30_000;
    for (let one = 0; one < sideBySide; one++) {
      if (share > 1) size.missed(begunWith);
      else size.answered(begunWith, begunWith, share);
    }
    if (share > 1) missed++;
  }
  return { size, asked, missed };
}

describe('CallSize', () => {
  it('stays at the limit while answers come in time', () => {
    expect(callsAt(1, 50).asked).toEqual(Array(50).fill(256));
  });

  it('finds a size that a slow server answers in time, and then stays there', () => {
    const { asked, missed } = callsAt(300, 50);
    expect(asked.slice(0, 4)).toEqual([256, 128, 64, 64]);
    expect(missed).toBe(2);
    expect(new Set(asked.slice(3))).toEqual(new Set([64]));
  });

  it('calls side by side that miss their deadline together count once', () => {
    expect(callsAt(300, 4, { limit: 32, sideBySide: 4 }).asked).toEqual([32, 16, 16, 16]);
  });

  it('never asks for less than one row, and grows back to the limit when the server is quick again', () => {
    const { size } = callsAt(1_000_000, 20);
    expect(size.rows).toBe(1);
    for (let call = 0; call < 8; call++) size.answered(size.rows, size.rows, 0.01);
    expect(size.rows).toBe(256);
  });

  it('a call of fewer rows than it might have had says nothing of the full size', () => {
    const size = new CallSize(64);
    size.missed(64);
    size.answered(32, 3, 0.01);
    expect(size.rows).toBe(32);
  });
});
