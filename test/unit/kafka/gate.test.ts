import { describe, expect, it } from 'vitest';
import { Flow } from '../../../src/kafka/flow.ts';
import { FetchGate } from '../../../src/kafka/gate.ts';
import { Partitions } from '../../../src/kafka/partitions.ts';
import { silentLog } from '../../../src/telemetry/log.ts';

const p = (partition: number) => ({ topic: 't', partition });

function setUp() {
  const partitions = new Partitions();
  partitions.assign([p(0), p(1)]);
  for (const id of partitions.owned) {
    partitions.beginsAt(id, 0n);
    partitions.brokerHolds(id, { offset: 0n, metadata: '' });
  }
  const flow = new Flow({ maxInFlightChunks: 100, maxInFlightBytes: 1_000, lowRatio: 0.5 });
  const told: string[] = [];
  const warned: unknown[] = [];
  const tell = (what: string) => (ids: readonly { partition: number }[]) =>
    void told.push(`${what} ${ids.map(({ partition }) => partition).join(',')}`);
  const gate = new FetchGate({
    partitions,
    flow,
    isJoined: () => true,
    pause: tell('pause'),
    resume: tell('resume'),
    log: { ...silentLog, warn: (_message, fields) => void warned.push(fields) },
  });
  return { partitions, flow, gate, told, warned };
}

const TAKEN = { takenTo: '1', declined: undefined };

describe('FetchGate', () => {
  it('holds one partition whose tail would not fit, with a reason, until what blocks it is done', () => {
    const { partitions, gate, told, warned } = setUp();
    const ledger = partitions.get(p(0))!.ledger!;
    for (let offset = 0n; offset < 20_000n; offset++) {
      ledger.track(offset);
      if (offset % 2n === 1n) ledger.markDone(offset);
    }
    gate.afterIntake(p(0), TAKEN);
    expect(told).toEqual(['pause 0']);
    expect(gate.reasons).toEqual(['commit metadata full']);
    expect(gate.waiting).toEqual({
      'in-flight limit': 0,
      'offsets not read yet': 0,
      'commit metadata full': 1,
      'schema not read yet': 0,
    });
    expect(warned).toEqual([{ partition: 0, blockedBy: '0' }]);
    expect([gate.isClosedFor(p(0)), gate.isClosedFor(p(1))]).toEqual([true, false]);
    ledger.markDone(4n);
    gate.onSettled();
    expect(told, 'the first offset is open still').toEqual(['pause 0']);
    for (let offset = 0n; offset < 4_000n; offset += 2n) ledger.markDone(offset);
    gate.onSettled();
    expect(told).toEqual(['pause 0', 'resume 0']);
    expect(gate.reasons).toEqual([]);
  });

  it('lets a partition go on once it is known where it stands', () => {
    const { partitions, gate, told } = setUp();
    partitions.assign([p(1)]);
    partitions.assign([p(0), p(1)]);
    gate.afterIntake(p(0), { takenTo: undefined, declined: 'wait-offsets' });
    gate.onOffsetsKnown();
    expect(told).toEqual(['pause 0']);
    partitions.beginsAt(p(0), 0n);
    partitions.brokerHolds(p(0), { offset: 0n, metadata: '' });
    gate.onOffsetsKnown();
    expect(told).toEqual(['pause 0', 'resume 0']);
  });

  it('holds all of them, or one, for room, and lets them go when there is some', () => {
    const { flow, gate, told } = setUp();
    flow.add(p(0), 60, 60);
    gate.afterIntake(p(0), { takenTo: undefined, declined: 'wait-share' });
    gate.afterIntake(p(1), { takenTo: undefined, declined: 'wait-empty' });
    expect(told).toEqual(['pause 0', 'pause 1']);
    flow.remove(p(0), 30, 30);
    gate.onSettled();
    expect(told, 'a large message waits until all are gone').toHaveLength(2);
    flow.remove(p(0), 30, 30);
    gate.onSettled();
    expect(told[2]).toBe('resume 0,1');
  });

  it('forgets why a partition waited that went to another', () => {
    const { partitions, gate } = setUp();
    gate.afterIntake(p(0), { takenTo: undefined, declined: 'wait-offsets' });
    partitions.assign([p(1)]);
    gate.onAssignment([p(0)]);
    expect(gate.reasons).toEqual([]);
  });
});
