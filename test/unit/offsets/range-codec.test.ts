import { describe, expect, it } from 'vitest';
import { readBitset, readRuns, writeBitset, writeRuns } from '../../../src/offsets/range-codec.ts';

const ranges = [
  { start: 11n, end: 12n },
  { start: 300n, end: 700n },
];

describe('ranges as bytes', () => {
  it('are a bit for each offset from the base', () => {
    expect([...writeBitset(10n, [{ start: 11n, end: 13n }])]).toEqual([0b110]);
    expect(readBitset(10n, writeBitset(10n, ranges))).toEqual(ranges);
  });

  it('are gaps and runs, seven bits a byte', () => {
    expect([...writeRuns(10n, ranges)]).toEqual([1, 1, 0xa0, 0x02, 0x90, 0x03]);
    expect(readRuns(10n, writeRuns(10n, ranges))).toEqual(ranges);
  });

  const refused = [
    { name: 'a bitset of nothing', read: readBitset, bytes: [] },
    { name: 'a bitset with an empty end', read: readBitset, bytes: [1, 0] },
    { name: 'no runs', read: readRuns, bytes: [] },
    { name: 'a gap without a run', read: readRuns, bytes: [1, 1, 1] },
    { name: 'an empty run', read: readRuns, bytes: [1, 0] },
    { name: 'runs that touch', read: readRuns, bytes: [1, 1, 0, 1] },
    { name: 'a number that does not end', read: readRuns, bytes: [1, 0x80] },
    { name: 'a number longer than it need be', read: readRuns, bytes: [1, 0x81, 0x00] },
    { name: 'a number beyond what is exact', read: readRuns, bytes: [1, ...Array(8).fill(0xff), 0x7f] },
  ];
  for (const { name, read, bytes } of refused) {
    it(`refuse ${name}`, () => {
      expect(read(0n, Uint8Array.from(bytes))).toBeUndefined();
    });
  }
});
