import { describe, expect, it } from 'vitest';
import { diffAssignment, PartitionEpochs } from '../../../src/offsets/epochs.ts';

const id = (partition: number, topic = 't') => ({ topic, partition });

describe('diffAssignment', () => {
  const cases = [
    { name: 'first assignment', before: [], after: [0, 1], gained: [0, 1], lost: [], kept: [] },
    { name: 'unchanged', before: [0, 1], after: [1, 0], gained: [], lost: [], kept: [1, 0] },
    { name: 'one moved away, one came', before: [0, 1], after: [1, 2], gained: [2], lost: [0], kept: [1] },
    { name: 'all gone', before: [0, 1], after: [], gained: [], lost: [0, 1], kept: [] },
  ];
  for (const { name, before, after, gained, lost, kept } of cases) {
    it(name, () => {
      const change = diffAssignment(
        before.map((p) => id(p)),
        after.map((p) => id(p)),
      );
      expect(change).toEqual({
        gained: gained.map((p) => id(p)),
        lost: lost.map((p) => id(p)),
        kept: kept.map((p) => id(p)),
      });
    });
  }

  it('keeps topics apart', () => {
    expect(diffAssignment([id(0, 'a')], [id(0, 'b')])).toEqual({ gained: [id(0, 'b')], lost: [id(0, 'a')], kept: [] });
  });
});

describe('PartitionEpochs', () => {
  it('keeps the epoch of a kept partition and gives a regained one a new epoch', () => {
    const epochs = new PartitionEpochs();
    epochs.assign([id(0), id(1)]);
    const [first, second] = [epochs.epochOf(id(0))!, epochs.epochOf(id(1))!];
    epochs.assign([id(1)]);
    expect(epochs.isCurrent(id(0), first)).toBe(false);
    expect(epochs.epochOf(id(1))).toBe(second);
    epochs.assign([id(0), id(1)]);
    expect(epochs.epochOf(id(0))).toBeGreaterThan(second);
    expect(epochs.isCurrent(id(0), first)).toBe(false);
  });

  it('ends an epoch by restart, and only of a partition that is owned', () => {
    const epochs = new PartitionEpochs();
    epochs.assign([id(0)]);
    const first = epochs.epochOf(id(0))!;
    expect(epochs.restart(id(0))).toBeGreaterThan(first);
    expect(epochs.isCurrent(id(0), first)).toBe(false);
    expect(epochs.restart(id(9))).toBeUndefined();
  });
});
