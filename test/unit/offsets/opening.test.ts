import { describe, expect, it } from 'vitest';
import { encodeTail } from '../../../src/offsets/commit-metadata.ts';
import { OffsetLedger } from '../../../src/offsets/ledger.ts';
import { offsetReset } from '../../../src/offsets/offset-reset.ts';
import { openLedger } from '../../../src/offsets/opening.ts';
import { tailIsFull } from '../../../src/offsets/tail-pressure.ts';

const done = [{ start: 12n, end: 15n }];

describe('openLedger', () => {
  it('takes the tail over when reading begins at the committed offset', () => {
    const opening = openLedger(10n, { offset: 10n, metadata: encodeTail(10n, done) });
    expect(opening).toMatchObject({ committed: 10n, restored: 3n, ignored: undefined });
    expect([10n, 11n, 12n, 14n, 15n].map((offset) => opening.ledger.isKnown(offset))).toEqual([
      false,
      false,
      true,
      true,
      false,
    ]);
  });

  it('begins with nothing committed where the broker holds nothing usable', () => {
    for (const offset of [-1n, -2n]) {
      const opening = openLedger(10n, { offset, metadata: encodeTail(10n, done) });
      expect(opening).toMatchObject({ committed: undefined, committedMetadata: '', restored: 0n });
      expect(opening.ledger.commitPoint).toBe(10n);
    }
  });

  it('takes no tail when reading begins elsewhere, and never falls behind the broker', () => {
    const ahead = openLedger(10n, { offset: 20n, metadata: encodeTail(20n, [{ start: 25n, end: 26n }]) });
    expect(ahead).toMatchObject({ committed: 20n, restored: 0n, ignored: expect.stringContaining('does not begin') });
    expect([ahead.ledger.commitPoint, ahead.ledger.isKnown(19n), ahead.ledger.isKnown(25n)]).toEqual([
      20n,
      true,
      false,
    ]);
    const behind = openLedger(30n, { offset: 20n, metadata: '' });
    expect(behind).toMatchObject({ committed: 20n, ignored: undefined });
    expect(behind.ledger.commitPoint).toBe(30n);
  });

  it('says why metadata is not used', () => {
    expect(openLedger(10n, { offset: 10n, metadata: 'node-7' })).toMatchObject({
      restored: 0n,
      ignored: 'written by another program',
    });
  });
});

describe('tailIsFull', () => {
  /** Open: `first` and then every other offset. */
  function zebra(length: number, first = 0n): OffsetLedger {
    const ledger = new OffsetLedger(first);
    for (let i = 0n; i < BigInt(length); i++) {
      ledger.track(first + i);
      if (i % 2n === 1n) ledger.markDone(first + i);
    }
    return ledger;
  }

  it('at three quarters of the room, and not before', () => {
    expect(tailIsFull(zebra(18_300), 4_096)).toBe(false);
    expect(tailIsFull(zebra(18_500), 4_096)).toBe(true);
    expect(tailIsFull(zebra(18_500), 0), 'no metadata is kept').toBe(false);
  });

  it('not for one stuck offset with a million done behind it', () => {
    const ledger = new OffsetLedger(0n);
    ledger.track(0n);
    ledger.sawEnd(1_000_000n);
    expect(tailIsFull(ledger, 4_096)).toBe(false);
  });

  it('never when nothing is open: reading on is what moves the commit point', () => {
    const ledger = new OffsetLedger(0n);
    ledger.restore(Array.from({ length: 20_000 }, (_, i) => ({ start: BigInt(i * 2 + 1), end: BigInt(i * 2 + 2) })));
    expect(tailIsFull(ledger, 4_096)).toBe(false);
    ledger.track(0n);
    expect(tailIsFull(ledger, 4_096)).toBe(true);
    ledger.markDone(0n);
    expect(tailIsFull(ledger, 4_096)).toBe(false);
  });
});

describe('offsetReset', () => {
  const cases = [
    { name: 'deleted before it was read', position: 5n, expected: { kind: 'deleted', resumeAt: 8n, gone: 3n } },
    { name: 'behind the end of the log', position: 21n, expected: { kind: 'truncated', resumeAt: 8n, gone: 0n } },
    { name: 'at the end', position: 20n, expected: { kind: 'none' } },
    { name: 'in the log', position: 8n, expected: { kind: 'none' } },
  ];
  for (const { name, position, expected } of cases) {
    it(name, () => expect(offsetReset(position, { low: 8n, end: 20n })).toEqual(expected));
  }
});
