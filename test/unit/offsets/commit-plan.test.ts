import { describe, expect, it } from 'vitest';
import { planCommits } from '../../../src/offsets/commit-plan.ts';

const base = { topic: 't', partition: 0, epoch: 3, metadata: '', committedMetadata: '' };

describe('planCommits', () => {
  const cases = [
    { name: 'moved forward', progress: { ...base, commitPoint: 9n, committed: 5n }, current: 3, offsets: [9n] },
    { name: 'not moved', progress: { ...base, commitPoint: 5n, committed: 5n }, current: 3, offsets: [] },
    { name: 'would go back', progress: { ...base, commitPoint: 4n, committed: 5n }, current: 3, offsets: [] },
    {
      name: 'nothing read yet',
      progress: { ...base, commitPoint: undefined, committed: undefined },
      current: 3,
      offsets: [],
    },
    {
      name: 'the broker holds nothing usable',
      progress: { ...base, commitPoint: 0n, committed: undefined },
      current: 3,
      offsets: [0n],
    },
    {
      name: 'owned again in a newer epoch',
      progress: { ...base, commitPoint: 9n, committed: 5n },
      current: 4,
      offsets: [],
    },
    {
      name: 'only what is done beyond it has changed',
      progress: { ...base, commitPoint: 5n, committed: 5n, metadata: 'new' },
      current: 3,
      offsets: [5n],
    },
    {
      name: 'nothing has changed',
      progress: { ...base, commitPoint: 5n, committed: 5n, metadata: 'same', committedMetadata: 'same' },
      current: 3,
      offsets: [],
    },
    {
      name: 'would go back, with news',
      progress: { ...base, commitPoint: 4n, committed: 5n, metadata: 'new' },
      current: 3,
      offsets: [],
    },
    { name: 'not owned', progress: { ...base, commitPoint: 9n, committed: 5n }, current: undefined, offsets: [] },
  ];
  for (const { name, progress, current, offsets } of cases) {
    it(name, () => {
      const plan = planCommits([progress], (_id, epoch) => epoch === current);
      expect(plan.map((commit) => commit.offset)).toEqual(offsets);
    });
  }
});
