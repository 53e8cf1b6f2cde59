/**
 * Fifty workers killed with SIGKILL at random moments while chunks come in: a reader of committed records sees each chunk
 * once. Takes a few minutes, because after a kill the group waits until the session of the dead has ended: so several are
 * killed at a time.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { useKafka } from '../../support/stack.ts';
import { outputEnv, outputOf, readOutput, timesByJava, timesOf } from './embedding-topic.ts';
import { endPrograms, eventually, startEngine, startWorker, TestTopic } from './harness.ts';

const KILLS = 50;
const WORKERS = 5;
/** Chunks of a message: of several only all together are done. */
const CHUNKS_A_MESSAGE = [1, 1, 3];
const SEND_EVERY_MS = 250;
const MESSAGES_A_SEND = 24;

const kafka = useKafka();
let topic: TestTopic;

beforeEach(() => {
  topic = new TestTopic(kafka().bootstrapServers);
});
afterEach(async () => {
  await endPrograms();
  await topic.close();
});

it(`${KILLS} kills: each chunk is there exactly once`, { timeout: 600_000 }, async () => {
  await topic.create(6);
  await topic.admin.ensureTopic(outputOf(topic), { partitions: 3 });
  const { target } = await startEngine(['--synthetic', '--batch-ms', '20']);
  const env = {
    ...outputEnv(topic, kafka().bootstrapServers, target),
    KAFKA_SESSION_TIMEOUT_MS: '6000',
    RAG_SERVING_DRAIN_TIMEOUT_MS: '5000',
    RAG_SERVING_COMMIT_INTERVAL_MS: '50',
    RAG_SERVING_MAX_BATCH_SIZE: '8',
  };
  const sent: string[] = [];
  let sending = true;
  const sender = (async () => {
    for (let n = 0; sending; await sleep(SEND_EVERY_MS)) {
      const messages = Array.from({ length: MESSAGES_A_SEND }, () => {
        const documentId = `doc-${n % 40}`;
        const count = CHUNKS_A_MESSAGE[n % CHUNKS_A_MESSAGE.length] ?? 1;
        const chunks = Array.from({ length: count }, (_, part) => ({
          chunk_id: `c${n}#${part}`,
          text: `text ${n} ${part}`,
        }));
        n += 1;
        return {
          ids: chunks.map((chunk) => chunk.chunk_id),
          key: documentId,
          value: JSON.stringify({ document_id: documentId, chunks }),
        };
      });
      await topic.send(messages);
      sent.push(...messages.flatMap(({ ids }) => ids));
    }
  })();

  let killed = 0;
  let killedAtWork = 0;
  while (killed < KILLS) {
    const workers = await Promise.all(Array.from({ length: WORKERS }, () => startWorker(env)));
    const before = await written();
    await eventually('records are written', async () => (await written()) > before, 90_000);
    await sleep(Math.random() * 1_000);
    const atKill = await written();
    if (atKill > before) killedAtWork += workers.length;
    await Promise.all(workers.map((worker) => worker.stop('SIGKILL')));
    killed += workers.length;
  }
  sending = false;
  await sender;
  const last = await startWorker(env);
  await topic.untilLagZero(120_000);
  expect(await last.stop()).toEqual({ code: 0, signal: null });

  expect({ killed, killedAtWork }).toEqual({ killed: KILLS, killedAtWork: KILLS });
  const readers = {
    kafkajs: timesOf(await readOutput(topic)),
    java: await timesByJava(topic, kafka().bootstrapServers),
  };
  for (const [reader, times] of Object.entries(readers)) {
    const wrong = sent.filter((id) => times.get(id) !== 1).map((id) => `${reader}: ${id} ${times.get(id) ?? 0} times`);
    expect(wrong).toEqual([]);
    expect(times.size).toBe(sent.length);
  }

  /** Offsets that the topic has grown by, markers and aborted records included. */
  async function written(): Promise<number> {
    const bounds = await topic.admin.topicBounds(outputOf(topic));
    return [...bounds.values()].reduce((sum, { end }) => sum + Number(end), 0);
  }
});
