/** `rag-serving offsets` against a real broker: what it shows, moves, and refuses. */
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { killAllPrograms, Program } from '../../scripts/stack/program.ts';
import { moveOffsets } from '../../src/kafka/group-control.ts';
import { encodeTail } from '../../src/offsets/commit-metadata.ts';
import { useKafka } from '../support/stack.ts';
import { type CommandEnd, endOf } from './dlq/dlq-world.ts';
import { chunkMessage, type Env, eventually, TestTopic } from './worker/harness.ts';

const kafka = useKafka();
let topic: TestTopic;

beforeEach(async () => {
  topic = new TestTopic(kafka().bootstrapServers);
  await topic.create(2);
});
afterEach(async () => {
  await killAllPrograms();
  await topic.close();
});

function run(args: readonly string[], more: Env = {}): Promise<CommandEnd> {
  return endOf(new Program(['offsets', ...args], { ...topic.env(kafka().bootstrapServers), ...more }));
}

/** Into partition n mod 2. */
async function send(from: number, to: number): Promise<void> {
  const numbers = Array.from({ length: to - from }, (_, n) => from + n);
  await topic.send(
    numbers.map((n) => ({
      ...chunkMessage({ chunkId: `c${n}`, documentId: 'd', text: `SENTINEL ${n}` }),
      partition: n % 2,
    })),
  );
}

/** As if a worker had: at once, where moving takes kafkajs five seconds. */
async function commit(...commits: readonly (bigint | { readonly offset: bigint; readonly metadata: string })[]) {
  const producer = topic.client.kafka.producer({
    transactionalId: topic.topic,
    idempotent: true,
    maxInFlightRequests: 1,
  });
  await producer.connect();
  const transaction = await producer.transaction();
  const partitions = commits.map((one, partition) =>
    typeof one === 'bigint' ? { partition, offset: String(one) } : { ...one, partition, offset: String(one.offset) },
  );
  await transaction.sendOffsets({ consumerGroupId: topic.group, topics: [{ topic: topic.topic, partitions }] });
  await transaction.commit();
  await producer.disconnect();
}
const committed = async () => Array.from(await topic.admin.committedOffsets(topic.group, topic.topic)).sort();

it('shows each partition, before and after a first commit, with what is done beyond it', async () => {
  await send(0, 20);
  const before = await run(['show']);
  expect(before.code, before.output).toBe(0);
  expect(before.output).toMatch(/^0 +0 +- +10 +10 +0$/m);
  expect(before.output).toMatch(/: (Dead|Empty), 0 members, lag 20/);
  await moveOffsets(topic.admin, topic.group, topic.topic, new Map([[1, 10n]]));
  expect(await committed()).toEqual([
    [0, -1n],
    [1, 10n],
  ]);
  await commit(4n, 10n);
  const after = await run(['show', '--json']);
  expect(after.lines[0]).toMatchObject({
    event: 'offsets',
    group: topic.group,
    members: 0,
    lag: '6',
    partitions: [
      { partition: 0, low: '0', committed: '4', end: '10', lag: '6', doneBeyond: '0' },
      { partition: 1, low: '0', committed: '10', end: '10', lag: '0', doneBeyond: '0' },
    ],
  });
});

it('what a worker has stored beyond its commit is told', async () => {
  await send(0, 20);
  await commit({ offset: 2n, metadata: encodeTail(2n, [{ start: 5n, end: 8n }]) });
  const { lines } = await run(['show', '--json']);
  expect(lines[0]).toMatchObject({ partitions: [{ committed: '2', doneBeyond: '3' }, { committed: null }] });
});

it('a dry run says what would be read again and moves nothing; --yes moves it', async () => {
  await send(0, 20);
  await commit(8n, 10n);
  const dry = await run(['reset', '--to-earliest', '--dry-run']);
  expect(dry.code, dry.output).toBe(0);
  expect(dry.output).toContain('would move 2 partitions');
  expect(dry.output).toContain('18 records are read again, 0 are skipped');
  expect(await committed()).toEqual([
    [0, 8n],
    [1, 10n],
  ]);
  const done = await run(['reset', '--to-earliest', '--yes', '--json']);
  expect(done.code, done.output).toBe(0);
  expect(done.lines[0]).toMatchObject({
    event: 'offsets-reset',
    partitions: [{ from: '8', to: '0', again: '8' }, { to: '0' }],
  });
  expect(await committed()).toEqual([
    [0, 0n],
    [1, 0n],
  ]);
  const again = await run(['reset', '--to-earliest', '--yes']);
  expect(again.output).toContain('moved 0 partitions');
});

it('to a time, and to an offset of one partition', async () => {
  await send(0, 10);
  await sleep(1_500);
  const between = new Date().toISOString();
  await sleep(50);
  await send(10, 20);
  await commit(10n, 10n);
  const timed = await run(['reset', '--to-time', between, '--yes']);
  expect(timed.code, timed.output).toBe(0);
  expect(await committed()).toEqual([
    [0, 5n],
    [1, 5n],
  ]);
  const one = await run(['reset', '--partition', '1', '--to-offset', '2', '--yes']);
  expect(one.code, one.output).toBe(0);
  expect(await committed()).toEqual([
    [0, 5n],
    [1, 2n],
  ]);
  const beyond = await run(['reset', '--partition', '1', '--to-offset', '11', '--yes']);
  expect(beyond.code).toBe(2);
  expect(beyond.output).toMatch(/--to-offset 11: partition 1 holds 0 to 10/);
});

it('forward over unread records only when that is said', async () => {
  await send(0, 20);
  await commit(1n, 1n);
  const refused = await run(['reset', '--to-latest', '--yes']);
  expect(refused.code).toBe(2);
  expect(refused.output).toMatch(/18 records after the committed offsets would be skipped.*--skip-unread/);
  expect(await committed()).toEqual([
    [0, 1n],
    [1, 1n],
  ]);
  expect((await run(['reset', '--to-latest', '--yes', '--skip-unread'])).code).toBe(0);
  expect(await committed()).toEqual([
    [0, 10n],
    [1, 10n],
  ]);
});

it('a group that somebody is in is refused by name, and left where it is', async () => {
  await send(0, 4);
  await commit(2n, 2n);
  const consumer = topic.client.kafka.consumer({ groupId: topic.group });
  await consumer.connect();
  await consumer.subscribe({ topic: topic.topic });
  await consumer.run({ autoCommit: false, eachMessage: async () => undefined });
  try {
    await eventually('joined', async () => (await run(['show', '--json'])).lines[0]?.state === 'Stable');
    const { code, output } = await run(['reset', '--to-earliest', '--yes']);
    expect(code).toBe(1);
    expect(output).toMatch(
      /KAFKA_GROUP_MISUSED: group .* is Stable with 1 members \(test at .*127\.0\.0\.1\): stop its workers first/,
    );
  } finally {
    await consumer.disconnect();
  }
  expect(await committed()).toEqual([
    [0, 2n],
    [1, 2n],
  ]);
});

it('a missing topic, no target, two targets, and nobody to ask are told', async () => {
  const missing = await run(['show'], { KAFKA_TOPIC: 'not.there' });
  expect(missing.code).toBe(1);
  expect(missing.output).toContain('KAFKA_TOPIC_UNKNOWN');
  for (const [args, says] of [
    [['reset', '--dry-run'], 'give one of --to-earliest'],
    [['reset', '--to-earliest', '--to-latest', '--dry-run'], 'give one of --to-earliest'],
    [['reset', '--to-earliest'], 'add --yes, or --dry-run'],
    [['reset', '--to-time', 'yesterday'], 'Give a time'],
  ] as const) {
    const { code, output } = await run(args);
    expect(code, output).toBe(2);
    expect(output).toContain(says);
  }
});
