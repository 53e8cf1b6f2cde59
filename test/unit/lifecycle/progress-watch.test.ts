import { describe, expect, it } from 'vitest';
import { type BrokerSays, ProgressWatch, type Pulse, type Verdict } from '../../../src/lifecycle/progress-watch.ts';

const limits = {
  silentMs: 30_000,
  confirmMs: 10_000,
  outageMs: 15_000,
  idleMs: 20_000,
  stallMs: 45_000,
  silentRebuilds: 2,
};
const quiet: Pulse = { activity: 0, inFlight: 0, joined: true, silentMs: 100, excuse: undefined, broker: undefined };
const away: BrokerSays = { answers: false };
const lagOf = (lag: bigint, groupSettled = true): BrokerSays => ({ answers: true, groupSettled, lag });

/** A look every five seconds; `at` gives what there is to see, `broker` what the broker would say if it were asked. */
function watch(
  untilMs: number,
  at: (ms: number, rebuilt: number) => Partial<Pulse>,
  broker: (ms: number) => BrokerSays = () => away,
) {
  const progress = new ProgressWatch(limits, 0);
  const seen: { readonly atMs: number; readonly verdict: Verdict }[] = [];
  let asked = 0;
  let rebuilt = 0;
  for (let ms = 0; ms <= untilMs; ms += 5_000) {
    const pulse = { ...quiet, ...at(ms, rebuilt) };
    let verdict = progress.look(pulse, ms);
    if (verdict.kind === 'ask-broker') {
      asked++;
      verdict = progress.look({ ...pulse, broker: broker(ms) }, ms);
    }
    if (verdict.kind === 'well') continue;
    seen.push({ atMs: ms, verdict });
    if (verdict.kind === 'stop') break;
    rebuilt++;
  }
  return { verdicts: seen.map(({ atMs, verdict }) => ({ atMs, ...verdict })), asked };
}

type Case = {
  readonly name: string;
  readonly at: (ms: number, rebuilt: number) => Partial<Pulse>;
  readonly broker?: (ms: number) => BrokerSays;
  readonly untilMs?: number;
  readonly expected: readonly { readonly atMs: number; readonly kind: string; readonly finding: string }[];
};

const cases: readonly Case[] = [
  { name: 'nothing to read is no standstill', at: () => ({}), broker: () => lagOf(0n), untilMs: 600_000, expected: [] },
  {
    name: 'work that moves is none, however far behind it is',
    at: (ms) => ({ activity: ms, inFlight: 900 }),
    broker: () => lagOf(1_000_000n),
    untilMs: 600_000,
    expected: [],
  },
  {
    name: 'records in flight to which nothing happens end the process within a minute',
    at: () => ({ inFlight: 3 }),
    expected: [{ atMs: 45_000, kind: 'stop', finding: 'pipeline-stalled' }],
  },
  {
    name: 'an outage that is waited out is an excuse, and the clock begins at its end',
    at: (ms) => ({ inFlight: 3, excuse: ms <= 300_000 ? 'engine' : undefined }),
    untilMs: 400_000,
    expected: [{ atMs: 345_000, kind: 'stop', finding: 'pipeline-stalled' }],
  },
  {
    name: 'one attempt after the other that fails without an excuse is no standstill of the pipeline',
    at: (ms) => ({ inFlight: 3, activity: Math.floor(ms / 30_000) }),
    untilMs: 600_000,
    expected: [],
  },
  {
    name: 'a consumer without answers is built anew once others have had some for a while',
    at: (ms, rebuilt) => ({ silentMs: rebuilt === 0 ? ms : 100, activity: rebuilt === 0 ? 0 : ms }),
    broker: () => lagOf(5n),
    untilMs: 60_000,
    expected: [{ atMs: 30_000, kind: 'rebuild-consumer', finding: 'consumer-silent' }],
  },
  {
    name: 'also while an outage is waited out, and while it is no member',
    at: (ms, rebuilt) => ({ silentMs: rebuilt === 0 ? ms : 100, excuse: 'sink', joined: rebuilt > 0 }),
    broker: () => lagOf(0n),
    untilMs: 60_000,
    expected: [{ atMs: 30_000, kind: 'rebuild-consumer', finding: 'consumer-silent' }],
  },
  {
    name: 'two rebuilds that bring no membership, and the process ends',
    at: (ms) => ({ silentMs: ms % 35_000, joined: false }),
    broker: () => lagOf(5n),
    untilMs: 600_000,
    expected: [
      { atMs: 30_000, kind: 'rebuild-consumer', finding: 'consumer-silent' },
      { atMs: 65_000, kind: 'rebuild-consumer', finding: 'consumer-silent' },
      { atMs: 100_000, kind: 'stop', finding: 'consumer-silent' },
    ],
  },
  {
    name: 'a broker that answers nobody is an outage, however long',
    at: (ms) => ({ silentMs: ms, joined: false }),
    untilMs: 3_600_000,
    expected: [],
  },
  {
    name: 'a consumer that waits for the other members of its group is well',
    at: (ms) => ({ silentMs: ms, joined: false }),
    broker: () => lagOf(5n, false),
    untilMs: 90_000,
    expected: [],
  },
  {
    name: 'a consumer that finds back by itself after an outage is left alone',
    at: (ms) => ({ silentMs: ms < 125_000 ? ms : 0 }),
    broker: (ms) => (ms < 120_000 ? away : lagOf(5n)),
    untilMs: 140_000,
    expected: [],
  },
  {
    name: 'messages that nobody reads: the consumer is built anew within a minute, once',
    at: () => ({}),
    broker: () => lagOf(100n),
    untilMs: 600_000,
    expected: [{ atMs: 40_000, kind: 'rebuild-consumer', finding: 'consumer-idle' }],
  },
  {
    name: 'more and more of them after the rebuild: the process ends',
    at: () => ({}),
    broker: (ms) => lagOf(BigInt(100 + ms / 5_000)),
    untilMs: 600_000,
    expected: [
      { atMs: 40_000, kind: 'rebuild-consumer', finding: 'consumer-idle' },
      { atMs: 80_000, kind: 'stop', finding: 'consumer-idle' },
    ],
  },
  {
    name: 'lag that falls is commits that move on',
    at: () => ({}),
    broker: (ms) => lagOf(BigInt(10_000_000 - ms)),
    untilMs: 600_000,
    expected: [],
  },
  {
    name: 'a rebuild that brought records on their way is forgotten: the next standstill begins anew',
    at: (ms) => ({ activity: ms === 100_000 ? 1 : ms > 100_000 ? 2 : 0 }),
    broker: () => lagOf(100n),
    untilMs: 200_000,
    expected: [
      { atMs: 40_000, kind: 'rebuild-consumer', finding: 'consumer-idle' },
      { atMs: 145_000, kind: 'rebuild-consumer', finding: 'consumer-idle' },
    ],
  },
  {
    name: 'a consumer that is built anew has its time from its joining on',
    at: (ms) => ({ joined: ms <= 40_000 || ms > 90_000 }),
    broker: (ms) => lagOf(BigInt(100 + ms / 5_000)),
    untilMs: 120_000,
    expected: [{ atMs: 40_000, kind: 'rebuild-consumer', finding: 'consumer-idle' }],
  },
  {
    name: 'no member of the group: what is to be read is not its business',
    at: () => ({ joined: false }),
    broker: () => lagOf(100n),
    untilMs: 600_000,
    expected: [],
  },
];

describe('ProgressWatch', () => {
  for (const { name, at, broker, untilMs = 300_000, expected } of cases) {
    it(name, () => {
      const { verdicts } = watch(untilMs, at, broker);
      expect(verdicts).toMatchObject(expected);
      expect(verdicts).toHaveLength(expected.length);
    });
  }

  it('asks a broker that answers nobody only now and then', () => {
    expect(watch(620_000, (ms) => ({ silentMs: ms, joined: false })).asked).toBe(600_000 / limits.outageMs + 1);
  });

  it('asks the broker only when something stands still', () => {
    expect(watch(600_000, (ms) => ({ activity: ms })).asked).toBe(0);
    expect(watch(600_000, () => ({ inFlight: 1, excuse: 'engine' })).asked).toBe(0);
    expect(
      watch(
        600_000,
        () => ({}),
        () => lagOf(0n),
      ).asked,
    ).toBe(600_000 / limits.idleMs);
  });
});
