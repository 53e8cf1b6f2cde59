import type { KafkaMessage } from 'kafkajs';
import { describe, expect, it } from 'vitest';
import { ServingError } from '../../../src/errors.ts';
import { Flow } from '../../../src/kafka/flow.ts';
import { BatchIntake, type FetchedBatch } from '../../../src/kafka/intake.ts';
import { Partitions } from '../../../src/kafka/partitions.ts';
import type { ValueReader } from '../../../src/kafka/value-reader.ts';
import { encodeTail } from '../../../src/offsets/commit-metadata.ts';
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

function open(partitions: Partitions, start: bigint, metadata = ''): void {
  partitions.beginsAt(id, start);
  partitions.brokerHolds(id, { offset: start, metadata });
}

/** Owns partition 0, which is opened at `start` as what the broker holds. */
function setUp(maxInFlightChunks = 1_000, start = 0n, values?: ValueReader) {
  const partitions = new Partitions();
  partitions.assign([id]);
  open(partitions, start);
  const flow = new Flow({ maxInFlightChunks, maxInFlightBytes: 1_000_000, lowRatio: 0.5 });
  const records: RecordInFlight[] = [];
  const events: string[] = [];
  const intake = new BatchIntake({
    partitions,
    flow,
    decode: { maxTextBytes: 100, oversizedText: 'cut', keepUnknownFields: false, values },
    handler: {
      onRecords: (taken) => void records.push(...taken),
      onAssigned: () => void events.push('assigned'),
      onRevoked: () => void events.push('revoked'),
      onFatal: () => void events.push('fatal'),
    },
    log: silentLog,
    onSettled: () => {},
    onReadable: () => void events.push('readable'),
    onUnreadable: ({ code }) => void events.push(code),
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
    const { intake, offsets, settle, planned, flow } = setUp(3, 5n);
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
    partitions.brokerHolds(id, { offset: 0n, metadata: '' });
    settle(0, 1, 3);
    expect(planned()).toEqual([4]);
  });

  it('does not commit a kept partition before the committed offset is known, and lets go of what others committed', () => {
    const { intake, settle, partitions, planned } = setUp();
    intake.take(batch(0, [0, 1, 2, 3]));
    settle(0);
    partitions.assign([id]);
    expect(planned()).toEqual([]);
    partitions.brokerHolds(id, { offset: 3n, metadata: '' });
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
    open(partitions, 0n);
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
    expect(planned(), 'the other one is told beside the offset').toEqual([0]);
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

  it('commits past a partition that begins with nothing but markers, also when they come before it is opened', () => {
    const { intake, partitions, planned } = setUp();
    intake.passEmpty(id, 4n);
    expect(planned()).toEqual([5]);
    partitions.assign([]);
    partitions.assign([id]);
    intake.passEmpty(id, 6n);
    open(partitions, 5n);
    expect(planned()).toEqual([7]);
    expect(intake.take(batch(7, [7])).declined).toBeUndefined();
  });

  it('takes nothing before it is known where the partition stands and the broker holds an offset for it', () => {
    const { intake, partitions, offsets, planned } = setUp();
    partitions.assign([]);
    partitions.assign([id]);
    const declined = { takenTo: undefined, declined: 'wait-offsets' };
    expect(intake.take(batch(3, [3]))).toEqual(declined);
    partitions.beginsAt(id, 3n);
    expect(intake.take(batch(3, [3]))).toEqual(declined);
    partitions.brokerHolds(id, { offset: -1n, metadata: '' });
    expect(intake.take(batch(3, [3]))).toEqual(declined);
    expect(planned(), 'a starting position is worth a commit').toEqual([3]);
    for (const commit of partitions.plan()) partitions.acknowledge(commit);
    expect(intake.take(batch(3, [3]))).toEqual({ takenTo: '3', declined: undefined });
    expect(offsets()).toEqual([3]);
  });

  it('does not hand on what a former owner has done', () => {
    const { intake, partitions, offsets, settle, planned } = setUp();
    partitions.assign([]);
    partitions.assign([id]);
    const done = [
      { start: 5n, end: 6n },
      { start: 8n, end: 10n },
    ];
    open(partitions, 3n, encodeTail(3n, done));
    intake.take(batch(3, [3, 4, 5, 6, 7, 8, 9, 10]));
    expect(offsets()).toEqual([3, 4, 6, 7, 10]);
    settle(3, 4);
    expect(planned()).toEqual([6]);
    settle(6, 7);
    expect(planned()).toEqual([10]);
  });

  it('keeps what was read of offsets that are deleted, and begins anew on a log that was cut', () => {
    const { intake, partitions, events, offsets, settle, planned } = setUp();
    intake.take(batch(0, [0, 1]));
    intake.reset(id, { kind: 'deleted', resumeAt: 9n, gone: 7n });
    intake.take(batch(9, [9]));
    expect([offsets(), events]).toEqual([[0, 1, 9], []]);
    settle(0);
    expect(planned()).toEqual([1]);
    settle(1);
    expect(planned()).toEqual([9]);
    for (const commit of partitions.plan()) partitions.acknowledge(commit);
    intake.reset(id, { kind: 'truncated', resumeAt: 2n, gone: 0n });
    expect(events).toEqual(['revoked', 'assigned']);
    expect(planned(), 'the old commit is of another log').toEqual([2]);
    partitions.assign([id]);
    partitions.brokerHolds(id, { offset: 9n, metadata: '' });
    expect(planned()).toEqual([2]);
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

describe('a message whose schema is not there yet', () => {
  /** Offset 1 cannot be read until `arrive` or `fail`. */
  function lacking() {
    let known = false;
    const waits: { resolve: () => void; reject: (error: Error) => void }[] = [];
    const values: ValueReader = {
      canRead: (value) => known || !Buffer.from(value).includes('"c1"'),
      read: (value) => JSON.parse(Buffer.from(value).toString()) as unknown,
      prepare: () => new Promise((resolve, reject) => void waits.push({ resolve, reject })),
    };
    const arrive = () => {
      known = true;
      for (const { resolve } of waits) resolve();
    };
    return { values, arrive, fail: (error: Error) => waits.forEach(({ reject }) => void reject(error)) };
  }
  const told = () => new Promise(setImmediate);

  it('is left with all that follows it, and read from there once it is', async () => {
    const { values, arrive } = lacking();
    const { intake, offsets, events, settle, planned } = setUp(10, 0n, values);
    expect(intake.take(batch(0, [0, 1, 2]))).toEqual({ takenTo: '0', declined: 'wait-schema' });
    expect(offsets()).toEqual([0]);
    settle(0);
    expect(planned()).toEqual([1]);
    arrive();
    await told();
    expect(events).toEqual(['readable']);
    expect(intake.take(batch(1, [1, 2]))).toEqual({ takenTo: '2', declined: undefined });
    expect(offsets()).toEqual([0, 1, 2]);
  });

  it('ends the source when it will never be, and waits for the next owner when the reader was closed', async () => {
    for (const [code, expected] of [
      ['SCHEMA_REGISTRY_ACCESS_DENIED', ['SCHEMA_REGISTRY_ACCESS_DENIED']],
      ['SCHEMA_REGISTRY_UNAVAILABLE', []],
    ] as const) {
      const { values, fail } = lacking();
      const { intake, events } = setUp(10, 0n, values);
      intake.take(batch(0, [0, 1]));
      fail(new ServingError(code, 'no'));
      await told();
      expect(events).toEqual(expected);
    }
  });
});
