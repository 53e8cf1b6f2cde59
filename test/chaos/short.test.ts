/**
 * A short chaos run: chunks and their updates keep coming while workers, engine, network and store fail one after another.
 * The seed is printed; CHAOS_SEED=<seed> repeats the same faults and the same chunks, as far as processes allow.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, expect, it } from 'vitest';
import { expectExactlyStored, expectNoDeadLetters, redisAt, shmFilesOf } from '../integration/worker/evidence.ts';
import { chunkMessage, endPrograms, TestTopic } from '../integration/worker/harness.ts';
import { useKafka, useRedis } from '../support/stack.ts';
import { planRounds, Revisions } from './plan.ts';
import { World } from './world.ts';

const ROUNDS = 10;
const WORKERS = ['chaos-a', 'chaos-b'];
const CHUNK_IDS = 2_000;
const SEND_EVERY_MS = 100;
const SENT_AT_ONCE = 20;

const kafka = useKafka();
const redis = useRedis({ appendonly: true });
const ends: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end();
  await endPrograms();
});

/** Sends until told to stop; resolves when all that was taken is with the broker. */
function keepSending(topic: TestTopic, revisions: Revisions): () => Promise<void> {
  const stop = new AbortController();
  const sending = (async () => {
    while (!stop.signal.aborted) {
      const messages = revisions.take(SENT_AT_ONCE).map((one) => chunkMessage(one, { version: one.version }));
      await topic.send(messages);
      await sleep(SEND_EVERY_MS);
    }
  })();
  return () => {
    stop.abort();
    return sending;
  };
}

it('ten faults in a row: every chunk is stored in its newest revision with its own vector', async () => {
  const seed = Number(process.env.CHAOS_SEED ?? Math.floor(Math.random() * 2 ** 31));
  const say = (line: string) => process.stdout.write(`chaos ${seed}: ${line}\n`);
  say(`repeat with CHAOS_SEED=${seed} npx vitest run --project chaos`);
  const topic = new TestTopic(kafka().bootstrapServers);
  ends.push(() => topic.close());
  await topic.create(6);
  const world = new World(WORKERS, redis(), {
    ...topic.env(kafka().bootstrapServers),
    RAG_SERVING_SINK: 'redis',
    RAG_SERVING_REDIS_URL: redis().url,
    RAG_SERVING_REDIS_KEY_PREFIX: 'chaos:',
  });
  ends.push(() => world.close());
  await world.start();
  const revisions = new Revisions(seed, CHUNK_IDS);
  const stopSending = keepSending(topic, revisions);
  ends.push(() => stopSending().catch(() => undefined));

  for (const [index, round] of planRounds(seed, ROUNDS, WORKERS.length).entries()) {
    const whom = round.fault.endsWith('worker') ? ` (${WORKERS[round.worker]})` : '';
    say(`round ${index + 1}: ${round.fault}${whom} for ${round.lastsMs} ms, then quiet for ${round.quietMs} ms`);
    await world.suffer(round);
    await sleep(round.quietMs);
  }

  await stopSending();
  await topic.untilLagZero(60_000);
  world.expectAlive();
  for (const worker of world.workers) expect(await worker.stop()).toEqual({ code: 0, signal: null });
  expect(await topic.lag()).toBe(0);
  await expectExactlyStored(redisAt(redis().url, 'chaos:'), [...revisions.newest.values()]);
  await expectNoDeadLetters(topic);
  for (const id of WORKERS) expect(shmFilesOf(id)).toEqual([]);
  const sent = [...revisions.newest.values()].reduce((sum, { version }) => sum + version, 0);
  say(`${sent} revisions of ${revisions.newest.size} chunks sent, all of the newest stored`);
});
