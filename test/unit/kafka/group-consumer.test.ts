/** Faults that a real broker cannot be made to show at will, so kafkajs's consumer is played by a fake here. */
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { ServingError } from '../../../src/errors.ts';
import type { KafkaClient } from '../../../src/kafka/client.ts';
import { ConnectionTroubles } from '../../../src/kafka/connection-troubles.ts';
import { GroupConsumer } from '../../../src/kafka/group-consumer.ts';
import type { Intake } from '../../../src/kafka/intake.ts';
import { silentLog } from '../../../src/telemetry/log.ts';
import { FakeConsumer } from './fake-consumer.ts';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

function setUp(
  prepare: (consumer: FakeConsumer) => void = () => {},
  onBatch: () => Intake = () => ({ takenTo: '7', declined: undefined }),
) {
  const built: FakeConsumer[] = [];
  const kafka = {
    consumer: () => {
      const consumer = new FakeConsumer();
      prepare(consumer);
      built.push(consumer);
      return consumer;
    },
  };
  const troubles = new ConnectionTroubles();
  const client = { kafka, patientKafka: kafka, troubles, log: silentLog, clientId: 'c' } as unknown as KafkaClient;
  const fatal: ServingError[] = [];
  const down: [code: string, retryInMs: number][] = [];
  const consumer = new GroupConsumer(
    {
      client,
      topic: 't',
      groupId: 'g',
      fromBeginning: true,
      sessionTimeoutMs: 30_000,
      rebalanceTimeoutMs: 60_000,
      fetchMaxWaitMs: 200,
      fetchMinBytes: 1,
      fetchMaxBytes: 1,
      fetchMaxBytesPerPartition: 1,
    },
    {
      onBatch,
      onEmptyStretch: () => {},
      onJoined: () => {},
      beforeRejoin: async () => {},
      onPosition: () => {},
      onOutOfRange: async () => undefined,
      onForeignTopics: () => {},
      onDown: (error, retryInMs) => void down.push([error.code, retryInMs]),
      onFatal: (error) => void fatal.push(error),
    },
  );
  return { consumer, built, fatal, down };
}

const commit = { topic: 't', partition: 0, epoch: 1, offset: 9n, metadata: '' };
const batch = { topic: 't', partition: 0, messages: [], fetchedOffset: '0', highWatermark: '9', lastOffset: () => '7' };

describe('a consumer that dies', () => {
  it('is built anew with growing delays, and for good after five surprises in a row (K08)', async () => {
    const { consumer, built, fatal, down } = setUp((fake) =>
      fake.connect.mockRejectedValue(new TypeError('x of undefined')),
    );
    await consumer.start();
    await vi.advanceTimersByTimeAsync(60_000);
    expect(down).toEqual([
      ['INTERNAL', 500],
      ['INTERNAL', 1_000],
      ['INTERNAL', 2_000],
      ['INTERNAL', 4_000],
    ]);
    expect(fatal).toMatchObject([{ code: 'KAFKA_CONSUMER_DEAD' }]);
    expect(built).toHaveLength(5);
    await consumer.close();
  });

  it('is built anew as often as it takes while the broker is away', async () => {
    const { consumer, built, fatal } = setUp((fake) =>
      fake.connect.mockRejectedValue(Object.assign(new Error('x'), { code: 'ECONNREFUSED' })),
    );
    await consumer.start();
    await vi.advanceTimersByTimeAsync(120_000);
    expect(built.length).toBeGreaterThan(20);
    expect(fatal).toEqual([]);
    await consumer.close();
    const before = built.length;
    await vi.advanceTimersByTimeAsync(60_000);
    expect(built).toHaveLength(before);
  });

  it('is built anew after a crash that kafkajs does not restart from, and when it shows no sign of life', async () => {
    const { consumer, built, down } = setUp();
    await consumer.start();
    built[0]!.emit('CRASH', { payload: { error: new Error('x'), restart: false } });
    await vi.advanceTimersByTimeAsync(500);
    expect(built).toHaveLength(2);
    expect(built[0]!.disconnect).toHaveBeenCalled();
    await vi.advanceTimersByTimeAsync(100_000);
    expect(down.length).toBe(2);
    expect(built).toHaveLength(3);
    await consumer.close();
  });

  it('is built anew on request, and only an answer ends its silence: a fetch that begins is none', async () => {
    const { consumer, built, down } = setUp();
    await consumer.start();
    await vi.advanceTimersByTimeAsync(20_000);
    built[0]!.emit('FETCH_START', {});
    expect(consumer.silentMs).toBe(0);
    expect(consumer.unansweredMs).toBe(20_000);
    consumer.rebuild('stuck');
    consumer.rebuild('one rebuild is under way already');
    await vi.advanceTimersByTimeAsync(500);
    expect(down).toEqual([['KAFKA_UNAVAILABLE', 500]]);
    expect(built).toHaveLength(2);
    expect(built[0]!.disconnect).toHaveBeenCalled();
    await vi.advanceTimersByTimeAsync(1_000);
    expect(consumer.unansweredMs).toBe(1_000);
    for (const answer of ['HEARTBEAT', 'GROUP_JOIN']) {
      await vi.advanceTimersByTimeAsync(1_000);
      built[1]!.emit(answer, { payload: { memberAssignment: {} } });
      expect(consumer.unansweredMs).toBe(0);
    }
    await consumer.close();
  });

  it('does not hear of what its predecessor still says', async () => {
    const { consumer, built, down } = setUp();
    await consumer.start();
    built[0]!.emit('CRASH', { payload: { error: new Error('x'), restart: false } });
    await vi.advanceTimersByTimeAsync(500);
    built[0]!.emit('CRASH', { payload: { error: new Error('x'), restart: false } });
    expect(down).toHaveLength(1);
    await consumer.close();
  });
});

describe('a batch', () => {
  it('whose intake throws reaches the source as fatal, and never kafkajs, which would die of it', async () => {
    const { consumer, built, fatal } = setUp(undefined, () => {
      throw new TypeError('x of undefined');
    });
    await consumer.start();
    const resolveOffset = vi.fn();
    await built[0]!.eachBatch({ batch, resolveOffset });
    expect(resolveOffset).not.toHaveBeenCalled();
    expect(fatal).toMatchObject([{ code: 'INTERNAL', message: 'a batch could not be taken in: TypeError' }]);
    await consumer.close();
  });

  it('is resolved up to what was taken', async () => {
    const { consumer, built } = setUp();
    await consumer.start();
    const resolveOffset = vi.fn();
    await built[0]!.eachBatch({ batch, resolveOffset });
    expect(resolveOffset).toHaveBeenCalledExactlyOnceWith('7');
    await consumer.close();
  });
});

describe('a commit', () => {
  const acknowledge = (fake: FakeConsumer, offset: string) =>
    fake.emit('COMMIT_OFFSETS', { payload: { topics: [{ topic: 't', partitions: [{ partition: 0, offset }] }] } });

  it('that resolves without the broker having acknowledged it is refused', async () => {
    const { consumer, built } = setUp();
    await consumer.start();
    await expect(consumer.commit([commit])).rejects.toMatchObject({ code: 'KAFKA_UNAVAILABLE' });
    built[0]!.group.commitOffsets.mockImplementation(async () => void acknowledge(built[0]!, '9'));
    await consumer.commit([commit]);
    acknowledge(built[0]!, '9');
    built[0]!.group.commitOffsets.mockImplementation(async () => {});
    await expect(consumer.commit([commit]), 'an earlier acknowledgement counts').rejects.toThrow();
    await consumer.close();
  });

  it('goes to the group itself, which does not repeat it in a later generation', async () => {
    const { consumer, built } = setUp();
    await consumer.start();
    const { group } = built[0]!;
    group.commitOffsets.mockImplementation(async () => void acknowledge(built[0]!, '9'));
    await consumer.commit([commit]);
    expect(group.commitOffsets).toHaveBeenCalledExactlyOnceWith({
      topics: [{ topic: 't', partitions: [{ partition: 0, offset: '9', metadata: '' }] }],
    });
    await consumer.close();
  });

  it('that is never answered ends in time, and holds back newer ones that it might overtake', async () => {
    const { consumer, built } = setUp();
    await consumer.start();
    let answer = () => {};
    built[0]!.group.commitOffsets.mockImplementationOnce(
      () =>
        new Promise<void>((resolve) => {
          answer = resolve;
        }),
    );
    const unanswered = expect(consumer.commit([commit])).rejects.toMatchObject({ code: 'KAFKA_UNAVAILABLE' });
    await vi.advanceTimersByTimeAsync(10_000);
    await unanswered;
    await expect(consumer.commit([commit])).rejects.toMatchObject({ message: expect.stringContaining('unanswered') });
    answer();
    await vi.advanceTimersByTimeAsync(0);
    built[0]!.group.commitOffsets.mockImplementation(async () => void acknowledge(built[0]!, '9'));
    await consumer.commit([commit]);
    await consumer.close();
  });
});

it('close ends although kafkajs never says that it stopped', async () => {
  const { consumer } = setUp((fake) => fake.disconnect.mockReturnValue(new Promise(() => {})));
  await consumer.start();
  const closed = consumer.close();
  await vi.advanceTimersByTimeAsync(5_000);
  await closed;
});
