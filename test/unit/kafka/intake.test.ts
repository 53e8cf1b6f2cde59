import type { KafkaMessage } from 'kafkajs';
import { describe, expect, it } from 'vitest';
import { Flow } from '../../../src/kafka/flow.ts';
import { BatchIntake, type FetchedBatch } from '../../../src/kafka/intake.ts';
import { Partitions } from '../../../src/kafka/partitions.ts';
import type { RecordInFlight } from '../../../src/records/travel.ts';
import { silentLog } from '../../../src/telemetry/log.ts';

const id = { topic: 't', partition: 0 };

function message(offset: number): KafkaMessage {
  const value = Buffer.from(JSON.stringify({ chunk_id: `c${offset}`, text: 'x' }));
  return { key: null, value, timestamp: '1', attributes: 0, offset: String(offset), headers: {} };
}

function batch(fetchedOffset: number, offsets: readonly number[], more: Partial<FetchedBatch> = {}): FetchedBatch {
  const lastOffset = BigInt(offsets.at(-1) ?? fetchedOffset);
  return {
    ...id,
    fetchedOffset: BigInt(fetchedOffset),
    lastOffset,
    highWatermark: 1_000n,
    messages: offsets.map(message),
    ...more,
  };
}

function setUp(maxInFlightChunks = 1_000) {
  const partitions = new Partitions();
  partitions.assign([id]);
  const flow = new Flow({ maxInFlightChunks, maxInFlightBytes: 1_000_000, lowRatio: 0.5 });
  const records: RecordInFlight[] = [];
  const events: string[] = [];
  const intake = new BatchIntake({
    partitions,
    flow,
    decode: { maxTextBytes: 100, oversizedText: 'cut', keepUnknownFields: false },
    handler: {
      onRecords: (taken) => void records.push(...taken),
      onAssigned: () => void events.push('assigned'),
      onRevoked: () => void events.push('revoked'),
      onFatal: () => void events.push('fatal'),
    },
    log: silentLog,
    onSettled: () => {},
  });
  const offsets = () => records.map((record) => Number(record.raw.source.offset));
  const settle = (...which: number[]) => {
    for (const record of records)
      if (which.includes(Number(record.raw.source.offset))) record.settle({ kind: 'persisted' });
  };
  const planned = () => partitions.plan().map((commit) => Number(commit.offset));
  return { partitions, flow, intake, offsets, settle, planned, events, records };
}

describe('BatchIntake', () => {
  it('takes up to the limit, and the rest when it is fetched again', () => {
    const { intake, offsets, settle, planned, flow } = setUp(3);
    expect(intake.take(batch(5, [5, 6, 8, 9, 10]))).toEqual({ takenTo: '8', declined: 'wait-low' });
    expect(offsets()).toEqual([5, 6, 8]);
    settle(5, 6, 8);
    expect(planned()).toEqual([9]);
    expect(intake.take(batch(9, [9, 10]))).toEqual({ takenTo: '10', declined: undefined });
    expect(offsets()).toEqual([5, 6, 8, 9, 10]);
    expect(flow.chunks).toBe(2);
  });

  it('resolves nothing when it takes nothing', () => {
    const { intake, offsets } = setUp(1);
    intake.take(batch(0, [0]));
    expect(intake.take(batch(1, [1, 2]))).toEqual({ takenTo: undefined, declined: 'wait-low' });
    expect(offsets()).toEqual([0]);
  });

  it('ignores a partition that is not owned', () => {
    const { intake, offsets } = setUp();
    expect(intake.take({ ...batch(0, [0]), partition: 7 })).toEqual({ takenTo: undefined, declined: undefined });
    expect(offsets()).toEqual([]);
  });

  it('skips what a kept partition has in flight or done, without room for it', () => {
    const { intake, offsets, settle, partitions, planned } = setUp(4);
    intake.take(batch(0, [0, 1, 2, 3]));
    settle(2);
    partitions.assign([id]);
    expect(intake.take(batch(0, [0, 1, 2, 3]))).toEqual({ takenTo: '3', declined: undefined });
    expect(offsets()).toEqual([0, 1, 2, 3]);
    settle(0, 1, 3);
    expect(planned()).toEqual([4]);
  });

  it('does not commit a kept partition before the committed offset is known, and lets go of what others committed', () => {
    const { intake, settle, partitions, planned } = setUp();
    intake.take(batch(0, [0, 1, 2, 3]));
    settle(0);
    partitions.assign([id]);
    expect(planned()).toEqual([]);
    partitions.reconcile(id, 3n);
    expect(planned()).toEqual([]);
    settle(1, 2, 3);
    expect(planned()).toEqual([4]);
  });

  it('changes nothing by an outcome of an epoch that is over', () => {
    const { intake, settle, partitions, planned, flow } = setUp();
    intake.take(batch(0, [0, 1]));
    partitions.assign([]);
    flow.forget(id);
    partitions.assign([id]);
    intake.take(batch(0, [0, 1]));
    const [old0, old1] = [0, 1];
    settle(old0, old1);
    expect(flow.chunks).toBe(0);
    expect(planned()).toEqual([2]);
  });

  it('counts a record once, however often it is settled, and keeps the offset of an abandoned one open', () => {
    const { intake, records, flow, planned, settle } = setUp();
    intake.take(batch(0, [0, 1]));
    records[0]!.settle({ kind: 'abandoned' });
    records[0]!.settle({ kind: 'persisted' });
    settle(1);
    expect(flow.chunks).toBe(0);
    expect(planned()).toEqual([]);
  });

  it('passes the markers behind the last message', () => {
    const { intake, settle, planned } = setUp();
    intake.take(batch(0, [0], { lastOffset: 3n }));
    settle(0);
    expect(planned()).toEqual([4]);
    intake.passEmpty(id, 9n);
    expect(planned()).toEqual([10]);
    expect(intake.take(batch(10, [10]))).toEqual({ takenTo: '10', declined: undefined });
  });

  it('commits past a partition that begins with nothing but markers', () => {
    const { intake, planned } = setUp();
    intake.passEmpty(id, 4n);
    expect(planned()).toEqual([5]);
  });

  for (const [name, next] of [
    ['goes back within a generation', batch(0, [0])],
    ['jumps ahead within a generation', batch(7, [7])],
  ] as const) {
    it(`begins a new epoch when the position ${name}, and commits even what looks like a step back`, () => {
      const { intake, partitions, events, offsets, settle, planned } = setUp();
      intake.take(batch(0, [0, 1]));
      const before = partitions.get(id)!.epoch;
      expect(intake.take(next).declined).toBeUndefined();
      expect(partitions.get(id)!.epoch).toBeGreaterThan(before);
      expect(events).toEqual(['revoked', 'assigned']);
      expect(offsets()).toHaveLength(3);
      settle(Number(next.fetchedOffset));
      expect(planned()).toEqual([Number(next.fetchedOffset) + 1]);
    });
  }

  for (const [name, next] of [
    ['ends before what is done', batch(0, [0], { highWatermark: 1n })],
    ['is fetched from before what the broker had acknowledged', batch(0, [0])],
  ] as const) {
    it(`begins a new epoch when after a rebalance the log ${name}`, () => {
      const { intake, partitions, events, settle, offsets } = setUp();
      intake.take(batch(0, [0, 1]));
      settle(0, 1);
      for (const commit of partitions.plan()) partitions.acknowledge(commit);
      partitions.assign([id]);
      intake.take(next);
      expect(events).toEqual(['revoked', 'assigned']);
      expect(offsets()).toEqual([0, 1, 0]);
    });
  }
});
