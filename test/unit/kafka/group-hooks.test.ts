/** Whether the hooks sit where kafkajs calls; that the real one calls there is shown with a real broker. */
import { createRequire } from 'node:module';
import { describe, expect, it, vi } from 'vitest';
import { type GroupHooks, runHooked } from '../../../src/kafka/group-hooks.ts';
import { FakeConsumer, type FakeGroup } from './fake-consumer.ts';

function setUp(hooks: Partial<GroupHooks> = {}): { readonly group: FakeGroup } {
  const consumer = new FakeConsumer();
  const all: GroupHooks = {
    beforeRejoin: async () => {},
    onPosition: () => {},
    onOutOfRange: async () => undefined,
    ...hooks,
  };
  runHooked(() => consumer.run({ eachBatch: async () => {} }), all);
  return { group: consumer.group };
}

describe('runHooked', () => {
  it('does something before a member joins again, and not before it joins for the first time', async () => {
    const beforeRejoin = vi.fn(async () => {});
    const { group } = setUp({ beforeRejoin });
    await group.joinAndSync();
    expect(beforeRejoin).not.toHaveBeenCalled();
    group.memberId = 'm1';
    await group.joinAndSync();
    expect(beforeRejoin).toHaveBeenCalledOnce();
    expect(group.joins).toBe(2);
  });

  it('a member that is asked to rejoin is one still, until the broker says otherwise', async () => {
    const alive: boolean[] = [];
    const { group } = setUp({ beforeRejoin: async (heartbeat) => void alive.push(await heartbeat()) });
    group.memberId = 'm1';
    group.generationId = 7;
    await group.joinAndSync();
    expect(group.coordinator.heartbeat).toHaveBeenCalledWith({ groupId: 'g', memberId: 'm1', groupGenerationId: 7 });
    for (const type of ['REBALANCE_IN_PROGRESS', 'UNKNOWN_MEMBER_ID', 'NOT_COORDINATOR_FOR_GROUP']) {
      group.coordinator.heartbeat.mockRejectedValueOnce(Object.assign(new Error(type), { type }));
      await group.joinAndSync();
    }
    expect(alive).toEqual([true, true, false, false]);
  });

  it('tells where reading begins, once a generation and partition', async () => {
    const told: unknown[] = [];
    const { group } = setUp({ onPosition: ({ partition }, offset) => void told.push([partition, offset]) });
    await group.seekOffsets([]);
    await group.seekOffsets([]);
    expect(told).toEqual([
      [0, 0n],
      [1, 10n],
    ]);
    group.offsetManager = { nextOffset: () => 99 };
    await group.seekOffsets([]);
    expect(told.slice(2)).toEqual([
      [0, 99n],
      [1, 99n],
    ]);
  });

  it('goes on where it is told when an offset is out of range, and commits nothing of its own', async () => {
    const asked: unknown[] = [];
    const { group } = setUp({
      onOutOfRange: async (id, position) => {
        asked.push([id, position]);
        return 42n;
      },
    });
    await group.recoverFromOffsetOutOfRange({ topic: 't', partition: 1, message: 'out of range' });
    expect(asked).toEqual([[{ topic: 't', partition: 1 }, 10n]]);
    expect(group.seeks).toEqual([{ topic: 't', partition: 1, offset: '42' }]);
    expect(group.commitOffsets).not.toHaveBeenCalled();
  });

  it('refuses a kafkajs that makes no group', () => {
    const hooks: GroupHooks = {
      beforeRejoin: async () => {},
      onPosition: () => {},
      onOutOfRange: async () => undefined,
    };
    expect(() => runHooked(async () => {}, hooks)).toThrowError(
      expect.objectContaining({ code: 'DEPENDENCY_MISSING', message: expect.stringContaining('2.2.4') }),
    );
  });

  it('kafkajs calls these methods on its group by name', () => {
    const source = createRequire(import.meta.url);
    const { version } = source('kafkajs/package.json') as { version: string };
    expect(version).toBe('2.2.4');
    const runner = String(source('kafkajs/src/consumer/runner'));
    const group = String(source('kafkajs/src/consumer/consumerGroup'));
    expect(runner).toContain('this.consumerGroup.joinAndSync()');
    expect(group).toContain('await this.seekOffsets(topicPartitions)');
    expect(group).toContain('await this.recoverFromOffsetOutOfRange(e)');
  });
});
