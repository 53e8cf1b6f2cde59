import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { OffsetLedger } from '../../../src/offsets/ledger.ts';

const cases: { name: string; start: bigint; track: bigint[]; done: bigint[]; end?: bigint; commit: bigint }[] = [
  { name: 'nothing received', start: 7n, track: [], done: [], commit: 7n },
  { name: 'nothing done yet', start: 10n, track: [10n, 11n], done: [], commit: 10n },
  { name: 'in order', start: 10n, track: [10n, 11n], done: [10n, 11n], commit: 12n },
  { name: 'out of order waits for the first', start: 10n, track: [10n, 11n, 12n], done: [12n, 11n], commit: 10n },
  { name: 'the first releases the rest', start: 10n, track: [10n, 11n, 12n], done: [12n, 11n, 10n], commit: 13n },
  { name: 'marking twice changes nothing', start: 10n, track: [10n, 11n], done: [11n, 11n], commit: 10n },
  { name: 'gap before the first offset', start: 0n, track: [5n], done: [5n], commit: 6n },
  { name: 'gap from compaction, open behind it', start: 10n, track: [10n, 15n], done: [10n], commit: 15n },
  { name: 'gap from compaction, all done', start: 10n, track: [10n, 15n], done: [10n, 15n], commit: 16n },
  {
    name: 'gaps of transaction markers do not stall (K02)',
    start: 0n,
    track: [0n, 2n, 4n, 6n, 8n],
    done: [8n, 6n, 4n, 2n, 0n],
    commit: 9n,
  },
  {
    name: 'a trailing marker is passed once all data is done',
    start: 0n,
    track: [0n, 1n],
    done: [1n, 0n],
    end: 2n,
    commit: 3n,
  },
  { name: 'a trailing marker does not pass open data', start: 0n, track: [0n, 1n], done: [1n], end: 2n, commit: 0n },
  { name: 'only aborted records', start: 4n, track: [], done: [], end: 9n, commit: 10n },
];

describe('OffsetLedger.commitPoint', () => {
  for (const { name, start, track, done, end, commit } of cases) {
    it(name, () => {
      const ledger = new OffsetLedger(start);
      for (const offset of track) expect(ledger.track(offset)).toBe('new');
      if (end !== undefined) ledger.sawEnd(end);
      for (const offset of done) ledger.markDone(offset);
      expect(ledger.commitPoint).toBe(commit);
      expect(ledger.open).toBe(track.length - new Set(done).size);
    });
  }

  it('passes data that follows a marker seen earlier', () => {
    const ledger = new OffsetLedger(0n);
    ledger.track(0n);
    ledger.sawEnd(1n);
    ledger.track(2n);
    ledger.markDone(2n);
    expect(ledger.commitPoint).toBe(0n);
    ledger.markDone(0n);
    expect(ledger.commitPoint).toBe(3n);
  });
});

describe('OffsetLedger.track', () => {
  it('knows what is in flight, done out of order, or before the commit point', () => {
    const ledger = new OffsetLedger(5n);
    for (const offset of [5n, 6n, 7n]) ledger.track(offset);
    ledger.markDone(5n);
    ledger.markDone(7n);
    expect([3n, 5n, 6n, 7n].map((offset) => ledger.track(offset))).toEqual(['known', 'known', 'known', 'known']);
    expect(ledger.track(8n)).toBe('new');
    expect(ledger.open).toBe(2);
  });

  it('passes a gap: what a batch left out does not exist', () => {
    const ledger = new OffsetLedger(0n);
    ledger.track(0n);
    ledger.track(9n);
    expect(ledger.track(4n)).toBe('known');
    ledger.markDone(0n);
    expect(ledger.commitPoint).toBe(9n);
  });

  it('refuses an outcome for an offset that was never received', () => {
    const ledger = new OffsetLedger(0n);
    ledger.track(3n);
    expect(() => ledger.markDone(4n)).toThrowError(expect.objectContaining({ code: 'LEDGER_MISUSE' }));
  });
});

describe('OffsetLedger.skipTo', () => {
  it('lets go of what someone else has committed, and never goes back', () => {
    const ledger = new OffsetLedger(0n);
    for (const offset of [0n, 1n, 2n, 3n]) ledger.track(offset);
    ledger.markDone(2n);
    ledger.skipTo(2n);
    expect(ledger.commitPoint).toBe(3n);
    expect(ledger.open).toBe(1);
    ledger.skipTo(1n);
    ledger.markDone(0n);
    expect(ledger.commitPoint).toBe(3n);
    ledger.skipTo(50n);
    expect([ledger.commitPoint, ledger.position, ledger.open]).toEqual([50n, 50n, 0]);
    expect(ledger.track(49n)).toBe('known');
    expect(ledger.track(50n)).toBe('new');
  });
});

describe('OffsetLedger.doneBeyond and restore', () => {
  it('gives what a successor takes over, gaps included, and the successor knows it', () => {
    const first = new OffsetLedger(10n);
    for (const offset of [10n, 11n, 13n, 14n, 17n]) first.track(offset);
    first.sawEnd(18n);
    for (const offset of [11n, 13n, 17n]) first.markDone(offset);
    const tail = first.doneBeyond();
    expect(tail).toEqual([
      { start: 11n, end: 14n },
      { start: 15n, end: 19n },
    ]);
    const next = new OffsetLedger(first.commitPoint);
    next.restore(tail);
    expect(next.doneBeyond()).toEqual(tail);
    expect([10n, 11n, 13n, 14n, 17n, 19n].map((offset) => next.track(offset))).toEqual([
      'new',
      'known',
      'known',
      'new',
      'known',
      'new',
    ]);
    next.markDone(10n);
    expect(next.commitPoint).toBe(14n);
    next.markDone(14n);
    expect([next.commitPoint, next.position, next.doneBeyond()]).toEqual([19n, 20n, []]);
  });

  it('changes nothing about what was read here already', () => {
    const ledger = new OffsetLedger(0n);
    ledger.track(0n);
    ledger.track(1n);
    ledger.restore([{ start: 1n, end: 4n }]);
    expect([ledger.open, ledger.position]).toEqual([2, 4n]);
    ledger.markDone(0n);
    expect(ledger.commitPoint).toBe(1n);
  });
});

describe('OffsetLedger, any interleaving', () => {
  const step = fc.oneof(
    fc.record({ kind: fc.constant('receive' as const), gap: fc.integer({ min: 0, max: 3 }) }),
    fc.record({ kind: fc.constant('marker' as const), gap: fc.integer({ min: 0, max: 3 }) }),
    fc.record({ kind: fc.constant('done' as const), pick: fc.nat() }),
    fc.record({ kind: fc.constant('redeliver' as const), pick: fc.nat() }),
  );

  it('never passes an open offset, never goes back, ends behind the last offset seen', () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 120, size: 'max' }), (steps) => {
        const ledger = new OffsetLedger(0n);
        const open = new Set<bigint>();
        const received: bigint[] = [];
        let next = 0n;
        let before = 0n;
        for (const action of steps) {
          if (action.kind === 'receive') {
            next += BigInt(action.gap);
            expect(ledger.track(next)).toBe('new');
            open.add(next);
            received.push(next);
            next += 1n;
          } else if (action.kind === 'marker') {
            next += BigInt(action.gap);
            ledger.sawEnd(next);
            next += 1n;
          } else if (action.kind === 'done' && open.size > 0) {
            const offset = [...open][action.pick % open.size]!;
            open.delete(offset);
            ledger.markDone(offset);
          } else if (action.kind === 'redeliver' && received.length > 0) {
            expect(ledger.track(received[action.pick % received.length]!)).toBe('known');
          }
          const firstOpen = [...open].reduce<bigint | undefined>(
            (low, o) => (low === undefined || o < low ? o : low),
            undefined,
          );
          if (firstOpen === undefined) expect(ledger.commitPoint).toBe(next);
          else expect(ledger.commitPoint <= firstOpen).toBe(true);
          expect(ledger.commitPoint >= before).toBe(true);
          expect(ledger.open).toBe(open.size);
          before = ledger.commitPoint;
        }
      }),
    );
  });

  it('takes 200,000 completions in reverse order without a cost that grows with their number', () => {
    const ledger = new OffsetLedger(0n);
    const count = 200_000n;
    for (let offset = 0n; offset < count; offset++) ledger.track(offset);
    const startedAt = performance.now();
    for (let offset = count - 1n; offset >= 0n; offset--) ledger.markDone(offset);
    expect(ledger.commitPoint).toBe(count);
    // Quadratic work would be 2e10 steps; this is a second at the very most.
    expect(performance.now() - startedAt).toBeLessThan(3_000);
  });
});
