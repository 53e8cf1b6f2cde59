import { describe, expect, it } from 'vitest';
import { type ConsumerPulse, consumerFault } from '../../../../workers/worker/consumer-check.ts';

const LIMITS = { silentMs: 30_000, quietMs: 35_000 };
const WELL: ConsumerPulse = {
  status: { joined: true, reason: undefined, silentMs: 100 },
  inFlight: 5,
  quietMs: 20,
  excused: false,
};

describe('consumerFault', () => {
  const cases: readonly (readonly [string, Partial<ConsumerPulse>, string | undefined])[] = [
    ['a member that gets on', {}, undefined],
    ['nothing to do for long', { inFlight: 0, quietMs: 9e6 }, undefined],
    ['no member', { status: { joined: false, reason: 'joining', silentMs: 0 } }, 'joining'],
    ['no member, and no reason', { status: { ...WELL.status, joined: false } }, 'not a member of the group'],
    [
      'a member that hears nothing',
      { status: { ...WELL.status, silentMs: 31_500 } },
      'no broker has answered for 31 s',
    ],
    [
      'records that nothing happens to',
      { quietMs: 36_000 },
      'records are in flight, and nothing has happened to them for 36 s',
    ],
    ['records that wait out an outage', { quietMs: 36_000, excused: true }, undefined],
  ];
  it.each(cases)('%s', (_name, more, fault) => {
    expect(consumerFault({ ...WELL, ...more }, LIMITS)).toBe(fault);
  });
});
