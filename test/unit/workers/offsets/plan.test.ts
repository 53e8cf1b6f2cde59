import { describe, expect, it } from 'vitest';
import { partitionLag } from '../../../../src/kafka/admin.ts';
import { planReset, sumOf, type Target } from '../../../../workers/offsets/plan.ts';

const at = (partition: number, low: bigint, end: bigint, committed?: bigint) => ({
  ...partitionLag(partition, low, end, committed),
  doneBeyond: 0n,
});
const positions = [at(0, 10n, 100n, 40n), at(1, 0n, 50n), at(2, 30n, 60n, 20n)];
const plan = (target: Target, partitions: number[] = [], times: [number, bigint][] = []) =>
  planReset(positions, target, partitions, new Map(times)).map(({ from, to, again, skipped }) => [
    from,
    to,
    again,
    skipped,
  ]);

describe('planReset', () => {
  it('to the oldest record: what was committed is read again, what retention took is not counted', () => {
    expect(plan({ kind: 'earliest' })).toEqual([
      [40n, 10n, 30n, 0n],
      [undefined, 0n, 0n, 0n],
      [20n, 30n, 0n, 0n],
    ]);
  });

  it('to the end: everything unread is skipped, also where nothing was committed', () => {
    expect(plan({ kind: 'latest' })).toEqual([
      [40n, 100n, 0n, 60n],
      [undefined, 50n, 0n, 50n],
      [20n, 60n, 0n, 30n],
    ]);
    expect(sumOf(planReset(positions, { kind: 'latest' }, [], new Map()), 'skipped')).toBe(140n);
  });

  it('to a time: where the broker found it, else to the end', () => {
    expect(plan({ kind: 'time', atMs: 1 }, [0, 1], [[0, 35n]])).toEqual([
      [40n, 35n, 5n, 0n],
      [undefined, 50n, 0n, 50n],
    ]);
  });

  it('to an offset: of one named partition, and within it', () => {
    expect(plan({ kind: 'offset', offset: 12n }, [0])).toEqual([[40n, 12n, 28n, 0n]]);
    expect(plan({ kind: 'offset', offset: 100n }, [0])).toEqual([[40n, 100n, 0n, 60n]]);
    expect(() => plan({ kind: 'offset', offset: 12n })).toThrow(/--partition/);
    expect(() => plan({ kind: 'offset', offset: 12n }, [0, 1])).toThrow(/--partition/);
    expect(() => plan({ kind: 'offset', offset: 9n }, [0])).toThrow(/partition 0 holds 10 to 100/);
    expect(() => plan({ kind: 'offset', offset: 101n }, [0])).toThrow(/partition 0 holds 10 to 100/);
  });

  it('a partition that is not there is refused with those that are', () => {
    expect(() => plan({ kind: 'earliest' }, [7])).toThrow(/--partition 7: the topic has partitions 0 to 2/);
  });
});
