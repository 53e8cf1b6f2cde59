/** What members do between hearing of a rebalance and joining again, with a model that takes its time. */
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { useKafka } from '../../support/stack.ts';
import { chunkMessages, committedOffset, freshTopic, type Harness, startSource, until, useTools } from './harness.ts';

const kafka = useKafka();
const tools = useTools(kafka);

const linesOf = ({ log }: Harness, message: string) => log.lines.filter((line) => line.message === message);
const joinsOf = (member: Harness) => linesOf(member, 'partitions assigned').length;

/** Settles what a member has read, each `ms` after it came: a model with room for everything. */
function settleAfter(member: Harness, ms: number): { stop(): void } {
  const seen = new Set<unknown>();
  const timer = setInterval(() => {
    for (const record of member.open) {
      if (seen.has(record)) continue;
      seen.add(record);
      setTimeout(() => member.settle(record), ms).unref();
    }
  }, 50);
  return { stop: () => clearInterval(timer) };
}

describe('work in flight when the group rebalances', () => {
  it('is finished and committed before the rejoin, so that the next owner does none of it again', async () => {
    const { topic, groupId } = await freshTopic(tools, 'hold', 4);
    for (const partition of [0, 1, 2, 3]) await tools.producer.send(topic, chunkMessages(50, partition));
    const options = { topic, groupId, settleAtOnce: false, rebalanceHoldMs: 10_000, commitIntervalMs: 60_000 };
    const first = await startSource(kafka().bootstrapServers, options);
    await until('all records', () => first.records.length === 200);
    const second = await startSource(kafka().bootstrapServers, options);
    await until('the first has heard of it', () => linesOf(first, 'group is rebalancing').length > 0);
    await sleep(300);
    expect(joinsOf(first), 'not joined again while work is in flight').toBe(1);
    first.settleAll();
    await until('both have partitions', () => second.source.status().assigned.length === 2);
    const [held] = linesOf(first, 'joining again');
    expect(held?.fields).toMatchObject({ committed: true, finishedChunks: 200 });
    for (const partition of [0, 1, 2, 3]) expect(await committedOffset(tools, groupId, topic, partition)).toBe(50n);
    await tools.producer.send(topic, chunkMessages(1, second.source.status().assigned[0]!.partition));
    await until('the next record', () => second.records.length > 0);
    expect(second.records.map(({ raw }) => raw.source.offset)).toEqual([50n]);
    expect(first.records).toHaveLength(200);
  });

  it('that does not finish in time is left to the next owner, and its late outcome changes nothing', async () => {
    const { topic, groupId } = await freshTopic(tools, 'late', 2);
    for (const partition of [0, 1]) await tools.producer.send(topic, chunkMessages(10, partition));
    const options = { topic, groupId, settleAtOnce: false, rebalanceHoldMs: 500 };
    const first = await startSource(kafka().bootstrapServers, options);
    await until('all records', () => first.records.length === 20);
    const second = await startSource(kafka().bootstrapServers, options);
    await until('the moved partition is read again', () => second.records.length === 10);
    const [lost] = first.revoked.flat();
    const held = Number(linesOf(first, 'joining again')[0]?.fields.heldMs);
    expect(held).toBeGreaterThanOrEqual(500);
    first.settleAll();
    await first.source.commit();
    expect(await committedOffset(tools, groupId, topic, lost!.partition)).toBe(0n);
    expect(await committedOffset(tools, groupId, topic, 1 - lost!.partition)).toBe(10n);
  });
});

describe('a model that takes 15 s, and a session of 10 s (K06)', () => {
  it('members that come one after the other settle with few joins, none is put out, and everything is done', async () => {
    const { topic, groupId } = await freshTopic(tools, 'slow', 4);
    const COUNT = 500;
    for (const partition of [0, 1, 2, 3]) await tools.producer.send(topic, chunkMessages(COUNT / 4, partition));
    const options = {
      topic,
      groupId,
      settleAtOnce: false,
      sessionTimeoutMs: 10_000,
      rebalanceTimeoutMs: 60_000,
      // All of it is paused most of the time, which is when kafkajs is quiet.
      flow: { maxInFlightChunks: 100, maxInFlightBytes: 1_048_576, lowRatio: 0.5 },
    };
    const members: Harness[] = [];
    const engines: { stop(): void }[] = [];
    for (const waitMs of [0, 5_000, 15_000]) {
      await sleep(waitMs);
      const member = await startSource(kafka().bootstrapServers, options);
      members.push(member);
      engines.push(settleAfter(member, 15_000));
    }
    await until(
      'all is committed',
      async () => (await tools.admin.lag(groupId, topic)).every(({ lag }) => lag === 0n),
      100_000,
    );
    for (const engine of engines) engine.stop();
    const seen = new Set(
      members.flatMap(({ records }) => records.map(({ raw: { source } }) => `${source.partition}/${source.offset}`)),
    );
    expect(seen.size).toBe(COUNT);
    expect(Math.max(...members.map(joinsOf)), 'joins a member').toBeLessThanOrEqual(3);
    expect(members.flatMap(({ fatal }) => fatal)).toEqual([]);
    expect(members.flatMap((member) => linesOf(member, 'not consuming; trying again'))).toEqual([]);
  });
});

describe('members that start and stop together', () => {
  it('settle with at most three joins each', async () => {
    const { topic, groupId } = await freshTopic(tools, 'together', 6);
    const options = { topic, groupId };
    const members = await Promise.all([1, 2, 3].map(() => startSource(kafka().bootstrapServers, options)));
    await until('two partitions each', () => members.every(({ source }) => source.status().assigned.length === 2));
    expect(Math.max(...members.map(joinsOf))).toBeLessThanOrEqual(3);
    const [first, second, third] = members;
    await Promise.all([second!.source.close(), third!.source.close()]);
    await until('all six', () => first!.source.status().assigned.length === 6);
    expect(joinsOf(first!)).toBeLessThanOrEqual(3 + 2);
  });
});
