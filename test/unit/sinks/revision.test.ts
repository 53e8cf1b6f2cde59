import { describe, expect, it } from 'vitest';
import { isNewerRevision, type Revision } from '../../../src/sinks/revision.ts';

function revision(offset: bigint, version?: number, partition = 0, topic = 't'): Revision {
  return { version, source: { topic, partition, offset } };
}

const cases: {
  readonly name: string;
  readonly incoming: Revision;
  readonly stored: Revision;
  readonly newer: boolean;
}[] = [
  { name: 'larger offset', incoming: revision(2n), stored: revision(1n), newer: true },
  { name: 'same offset: the same message again', incoming: revision(1n), stored: revision(1n), newer: true },
  { name: 'smaller offset', incoming: revision(1n), stored: revision(2n), newer: false },
  { name: 'beyond 2^53', incoming: revision(2n ** 53n), stored: revision(2n ** 53n + 1n), newer: false },
  { name: 'larger version, smaller offset', incoming: revision(1n, 2), stored: revision(9n, 1), newer: true },
  { name: 'smaller version, larger offset', incoming: revision(9n, 1), stored: revision(1n, 2), newer: false },
  { name: 'equal versions go by offset', incoming: revision(1n, 2), stored: revision(2n, 2), newer: false },
  { name: 'one version only goes by offset', incoming: revision(1n, 9), stored: revision(2n), newer: false },
  { name: 'another partition arrives later', incoming: revision(1n, undefined, 1), stored: revision(9n), newer: true },
  { name: 'another topic arrives later', incoming: revision(1n, undefined, 0, 'u'), stored: revision(9n), newer: true },
  {
    name: 'another partition with a smaller version',
    incoming: revision(1n, 1, 1),
    stored: revision(9n, 2),
    newer: false,
  },
];

describe('isNewerRevision', () => {
  for (const { name, incoming, stored, newer } of cases) {
    it(`${name}: ${newer ? 'replaces' : 'is left out'}`, () => {
      expect(isNewerRevision(incoming, stored)).toBe(newer);
    });
  }
});
