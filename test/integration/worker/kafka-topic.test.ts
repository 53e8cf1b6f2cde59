/** A whole worker with a Kafka topic as its store: in one transaction with the offsets, and what happens around that. */
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { useKafka } from '../../support/stack.ts';
import { outputEnv, outputOf, readOutput, timesOf } from './embedding-topic.ts';
import { chunkMessage, endPrograms, eventually, startEngine, startWorker, TestTopic } from './harness.ts';

const kafka = useKafka();
let topic: TestTopic;

beforeEach(() => {
  topic = new TestTopic(kafka().bootstrapServers);
});
afterEach(async () => {
  await endPrograms();
  await topic.close();
});

const ids = (count: number) => Array.from({ length: count }, (_, i) => `t#${i}`);
const messageOf = (id: string) =>
  chunkMessage({ chunkId: id, documentId: id.split('#')[0] ?? id, text: `${id} words` });
const once = (names: readonly string[]) => new Map(names.map((name) => [name, 1]));
const sorted = (times: ReadonlyMap<string, number>) => [...times].sort(([a], [b]) => (a < b ? -1 : 1));

it('every chunk is a record, every tombstone a null, in the order of the source', async () => {
  await topic.create(2);
  await topic.admin.ensureTopic(outputOf(topic), { partitions: 3, configEntries: { 'cleanup.policy': 'compact' } });
  const { target } = await startEngine();
  const worker = await startWorker(outputEnv(topic, kafka().bootstrapServers, target));
  const names = ids(500);
  await topic.send(names.map(messageOf));
  await topic.send([
    {
      key: 'batch',
      value: JSON.stringify({
        document_id: 'batch',
        chunks: [0, 1, 2].map((n) => ({ chunk_id: `batch#${n}`, text: `part ${n}` })),
      }),
    },
    { key: 't#7', value: null },
    { key: 'batch', value: null, headers: [['rag-scope', Buffer.from('document')]] },
  ]);
  await topic.untilLagZero();
  expect(await worker.stop()).toEqual({ code: 0, signal: null });
  const records = await readOutput(topic);
  expect(sorted(timesOf(records))).toEqual(sorted(once([...names, 'batch#0', 'batch#1', 'batch#2'])));
  const deletions = records.filter(({ kind }) => kind === 'deletion');
  expect(
    deletions.map((one) => one.kind === 'deletion' && [one.deletion.scope, one.deletion.id, one.partition]),
  ).toEqual(
    expect.arrayContaining([
      ['chunk', 't#7', records.find((one) => one.kind === 'embedding' && one.row.chunkId === 't#7')?.partition],
      ...[0, 1, 2].map((partition) => ['document', 'batch', partition]),
    ]),
  );
  expect(deletions).toHaveLength(4);
  for (const partition of [0, 1, 2]) {
    const offsets = records.flatMap((one) =>
      one.kind === 'embedding' && one.partition === partition && one.row.source.partition === 0
        ? [one.row.source.offset]
        : [],
    );
    expect(offsets).toEqual([...offsets].sort((a, b) => (a < b ? -1 : 1)));
  }
});

it('a worker that was frozen while its partitions moved on adds nothing when it wakes up', async () => {
  await topic.create(2);
  await topic.admin.ensureTopic(outputOf(topic), { partitions: 3 });
  const { target } = await startEngine(['--synthetic', '--batch-ms', '100']);
  const env = {
    ...outputEnv(topic, kafka().bootstrapServers, target),
    KAFKA_SESSION_TIMEOUT_MS: '6000',
    RAG_SERVING_DRAIN_TIMEOUT_MS: '5000',
    RAG_SERVING_MAX_BATCH_SIZE: '16',
  };
  const frozen = await startWorker(env);
  const names = ids(2_000);
  await topic.send(names.map(messageOf));
  await eventually('some are written', async () => (await committed()) > 100);
  frozen.program.signal('SIGSTOP');
  const other = await startWorker(env);
  await topic.untilLagZero();
  frozen.program.signal('SIGCONT');
  await sleep(3_000);
  await topic.send([messageOf('after#1')]);
  await topic.untilLagZero();
  for (const worker of [frozen, other]) expect(await worker.stop()).toEqual({ code: 0, signal: null });
  expect(sorted(timesOf(await readOutput(topic)))).toEqual(sorted(once([...names, 'after#1'])));

  async function committed(): Promise<number> {
    const lag = await topic.admin.lag(topic.group, topic.topic);
    return lag.reduce((sum, { committed: offset }) => sum + Number(offset ?? 0n), 0);
  }
});

it('a topic that is not there stops the worker with one clear error', async () => {
  await topic.create(1);
  const { target } = await startEngine();
  const worker = await startWorker(outputEnv(topic, kafka().bootstrapServers, target));
  expect(await worker.program.exited).toEqual({ code: 1, signal: null });
  const errors = worker.log.filter(({ level }) => level === 'ERROR');
  expect(JSON.stringify(errors)).toMatch(/CONFIG_INVALID.*does not exist.*RAG_SERVING_KAFKA_SINK_TOPIC/);
});
