import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { layoutFor } from '../../../src/shm/layout.ts';

const demands = fc.record({
  slots: fc.integer({ min: 1, max: 64 }),
  inputBytes: fc.integer({ min: 1, max: 1 << 22 }),
  outputBytes: fc.integer({ min: 1, max: 1 << 22 }),
});

describe('layoutFor', () => {
  it('puts the first tensor behind the header, input then output, on 64-byte boundaries', () => {
    expect(layoutFor({ slots: 2, inputBytes: 100, outputBytes: 64 })).toEqual({
      regionBytes: 4096,
      slots: [
        { index: 0, input: { offset: 64, byteSize: 100 }, output: { offset: 192, byteSize: 64 } },
        { index: 1, input: { offset: 256, byteSize: 100 }, output: { offset: 384, byteSize: 64 } },
      ],
    });
  });

  it('takes one more page for one byte more than fits', () => {
    expect(layoutFor({ slots: 1, inputBytes: 4032 - 64, outputBytes: 64 }).regionBytes).toBe(4096);
    expect(layoutFor({ slots: 1, inputBytes: 4032 - 63, outputBytes: 64 }).regionBytes).toBe(8192);
  });

  it('never lets two areas overlap, leave the file, touch the header or lie unaligned', () => {
    fc.assert(
      fc.property(demands, (demand) => {
        const { regionBytes, slots } = layoutFor(demand);
        expect(regionBytes % 4096).toBe(0);
        let free = 64;
        for (const range of slots.flatMap((slot) => [slot.input, slot.output])) {
          expect(range.offset % 64).toBe(0);
          expect(range.offset).toBeGreaterThanOrEqual(free);
          free = range.offset + range.byteSize;
        }
        expect(free).toBeLessThanOrEqual(regionBytes);
        expect(
          slots.every((s) => s.input.byteSize === demand.inputBytes && s.output.byteSize === demand.outputBytes),
        ).toBe(true);
      }),
    );
  });

  for (const bad of [0, -1, 1.5, Number.NaN, Number.POSITIVE_INFINITY]) {
    it(`refuses ${bad} as a size or a count`, () => {
      const good = { slots: 1, inputBytes: 1, outputBytes: 1 };
      for (const field of ['slots', 'inputBytes', 'outputBytes']) {
        expect(() => layoutFor({ ...good, [field]: bad })).toThrow(expect.objectContaining({ code: 'SHM_INVALID' }));
      }
    });
  }

  it('refuses sizes whose product cannot be counted', () => {
    expect(() => layoutFor({ slots: 2 ** 30, inputBytes: 2 ** 40, outputBytes: 1 })).toThrow(/RAG_SERVING_SHM_SLOTS/);
  });
});
