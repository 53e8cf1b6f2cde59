import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { decodeTail, encodeTail, MAX_METADATA_BYTES, tailBytes } from '../../../src/offsets/commit-metadata.ts';
import { countOffsets, type OffsetRange } from '../../../src/offsets/offset-range.ts';

/** Gaps and runs in turn, from the offset behind the commit point on. */
function rangesOf(commitPoint: bigint, steps: readonly (readonly [gap: number, run: number])[]): OffsetRange[] {
  let from = commitPoint + 1n;
  return steps.map(([gap, run], index) => {
    const start = from + BigInt(index === 0 ? gap : Math.max(1, gap));
    from = start + BigInt(run);
    return { start, end: from };
  });
}

const commitPoints = fc.bigInt({ min: 0n, max: 1n << 62n });
const stepsOf = (maxLength: number, size: number) =>
  fc.array(fc.tuple(fc.nat(size), fc.integer({ min: 1, max: size })), { maxLength });
const tails = fc.oneof(
  stepsOf(20, 5),
  stepsOf(200, 3),
  stepsOf(50, 1_000_000),
  // Too much for either way.
  fc.array(fc.tuple(fc.integer({ min: 30, max: 60 }), fc.integer({ min: 1, max: 40 })), {
    minLength: 3_000,
    maxLength: 3_500,
  }),
);

function decoded(commitPoint: bigint, text: string): readonly OffsetRange[] {
  const tail = decodeTail(commitPoint, text);
  expect(tail.kind).toBe('tail');
  return tail.kind === 'tail' ? tail.done : [];
}

const isPartOf = (part: readonly OffsetRange[], whole: readonly OffsetRange[]) =>
  part.every(({ start, end }) => whole.some((one) => one.start <= start && end <= one.end));

describe('encodeTail', () => {
  it('comes back as it went, is printable, fits, and is as long as it was said to be', () => {
    fc.assert(
      fc.property(commitPoints, tails, (commitPoint, steps) => {
        const done = rangesOf(commitPoint, steps);
        const text = encodeTail(commitPoint, done);
        expect(text).toMatch(/^[\x21-\x7e]*$/);
        expect(text.length).toBeLessThanOrEqual(MAX_METADATA_BYTES);
        if (done.length === 0) expect(text).toBe('');
        else if (tailBytes(commitPoint, done) > MAX_METADATA_BYTES) {
          const kept = decoded(commitPoint, text);
          expect(isPartOf(kept, done), 'a cut tail says nothing that is not true').toBe(true);
          expect(kept[0]?.start).toBe(done[0]?.start);
        } else {
          expect(decoded(commitPoint, text)).toEqual(done);
          expect(text.length).toBe(tailBytes(commitPoint, done));
        }
      }),
      { numRuns: 60 },
    );
  });

  it('fits whatever room there is, and says less the less there is', () => {
    const done = rangesOf(
      7n,
      Array.from({ length: 500 }, (_, i) => [1 + (i % 7), 1 + (i % 3)] as const),
    );
    let before = 0n;
    for (let room = 0; room <= 1_200; room += 13) {
      const text = encodeTail(7n, done, room);
      expect(text.length).toBeLessThanOrEqual(room);
      const kept = text === '' ? [] : decoded(7n, text);
      expect(isPartOf(kept, done)).toBe(true);
      expect(countOffsets(kept)).toBeGreaterThanOrEqual(before);
      before = countOffsets(kept);
    }
    expect(before).toBe(countOffsets(done));
  });

  const shapes = [
    { name: 'every other offset', steps: Array.from({ length: 300 }, () => [1, 1] as const), way: 'rag1b.' },
    { name: 'one long stretch', steps: [[3, 100_000] as const], way: 'rag1r.' },
    { name: 'far apart', steps: Array.from({ length: 20 }, () => [5_000, 2] as const), way: 'rag1r.' },
  ];
  for (const { name, steps, way } of shapes) {
    it(`takes the shorter way for ${name}`, () => {
      expect(encodeTail(100n, rangesOf(100n, steps))).toMatch(new RegExp(`^${way.replace('.', '\\.')}`));
    });
  }

  it('leaves out what the commit point has passed', () => {
    const text = encodeTail(10n, [
      { start: 3n, end: 6n },
      { start: 9n, end: 14n },
    ]);
    expect(decoded(10n, text)).toEqual([{ start: 11n, end: 14n }]);
  });
});

describe('decodeTail', () => {
  it('never makes a wrong set of damaged text', () => {
    const damage = fc.oneof(
      fc.record({
        kind: fc.constant('replace' as const),
        at: fc.nat(),
        char: fc.string({ minLength: 1, maxLength: 1 }),
      }),
      fc.record({ kind: fc.constant('cut' as const), at: fc.nat(), char: fc.constant('') }),
      fc.record({
        kind: fc.constant('insert' as const),
        at: fc.nat(),
        char: fc.string({ minLength: 1, maxLength: 3 }),
      }),
    );
    fc.assert(
      fc.property(commitPoints, stepsOf(30, 40), damage, (commitPoint, steps, { kind, at, char }) => {
        const text = encodeTail(commitPoint, rangesOf(commitPoint, steps));
        const place = at % (text.length + 1);
        const after = kind === 'insert' ? place : place + 1;
        const damaged = kind === 'cut' ? text.slice(0, place) : text.slice(0, place) + char + text.slice(after);
        const tail = decodeTail(commitPoint, damaged);
        if (damaged === text) return;
        expect(tail.kind).toBe(damaged === '' ? 'nothing' : 'ignored');
      }),
      { numRuns: 500 },
    );
  });

  it('takes nothing for any other text, and never quotes it', () => {
    fc.assert(
      fc.property(commitPoints, fc.string({ minLength: 1, maxLength: 60 }), (commitPoint, text) => {
        const tail = decodeTail(commitPoint, text);
        expect(tail.kind).toBe('ignored');
        if (tail.kind === 'ignored' && text.length > 3) expect(tail.why).not.toContain(text);
      }),
    );
  });

  it('takes nothing that was written for another offset', () => {
    fc.assert(
      fc.property(commitPoints, commitPoints, stepsOf(20, 10), (one, other, steps) => {
        fc.pre(one !== other && steps.length > 0);
        expect(decodeTail(other, encodeTail(one, rangesOf(one, steps))).kind).toBe('ignored');
      }),
    );
  });

  it('has nothing to say of a commit without metadata', () => {
    for (const text of ['', null]) expect(decodeTail(5n, text)).toEqual({ kind: 'nothing' });
  });
});
