/** `rag-serving status` asked once: with a worker, with none, and with each part away. */
import { createServer } from 'node:net';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { freePort } from '../../../scripts/stack/free-port.ts';
import { encodeTail } from '../../../src/offsets/commit-metadata.ts';
import { useKafka, useRedis } from '../../support/stack.ts';
import { chunkMessage, endPrograms, eventually, startEngine, startWorker } from '../worker/harness.ts';
import { StatusWorld, urlOf } from './status-world.ts';

const kafka = useKafka();
const redis = useRedis();
let world: StatusWorld;

beforeEach(() => {
  world = new StatusWorld(kafka().bootstrapServers);
});
afterEach(async () => {
  await endPrograms();
  await world.close();
});

const AWAY = '127.0.0.1:1';
const quick = ['--interval', '0', '--no-engine'] as const;
const memory = { RAG_SERVING_SINK: 'memory' };

async function send(count: number, text: (n: number) => string): Promise<void> {
  await world.topic.send(
    Array.from({ length: count }, (_, n) => ({
      ...chunkMessage({ chunkId: `c${n}`, documentId: `d${n}`, text: text(n) }),
      partition: n % 2,
    })),
  );
}

describe('rag-serving status', () => {
  it('shows everything of a real worker, and never a text', async () => {
    await world.topic.create(2);
    const engine = await startEngine(['--synthetic', '--fault', 'POISON=invalid-argument']);
    const settings = world.settings(engine.target, redis().url);
    const worker = await startWorker({
      ...world.env,
      ...settings,
      RAG_SERVING_WORKER_ID: 'ingest-7',
      RAG_SERVING_API_KEY: 'key-SENTINEL',
    });
    await send(40, (n) => (n === 3 ? ' ' : n === 5 ? 'POISON SENTINEL' : `SENTINEL ${n}`));
    await world.topic.untilLagZero();
    const asked = ['--worker', urlOf(worker), '--interval', '1'];
    const known = { ...settings, RAG_SERVING_API_KEY: 'key-SENTINEL' };
    await eventually(
      'the worker has told of everything',
      async () => {
        const { status } = await world.json(asked, known);
        return status.retries.delayed === 1 && status.deadLetters.count === '1';
      },
      60_000,
    );
    const { end, status } = await world.json(asked, known);
    expect(end.code, end.output).toBe(0);
    expect(status).toMatchObject({
      lag: '0',
      rate: { committedPerSecond: 0, arrivedPerSecond: 0 },
      eta: { state: 'caught-up', seconds: null },
      offsets: {
        state: 'known',
        partitions: [
          { partition: 0, low: '0', committed: '20', end: '20', lag: '0', doneBeyond: '0' },
          { partition: 1, committed: '20', end: '20' },
        ],
      },
      members: { state: 'known', group: 'Stable', members: [{ clientId: 'ingest-7', partitions: [0, 1] }] },
      retries: { state: 'known', delayed: 1, waiting: 0, active: 0 },
      deadLetters: {
        state: 'known',
        exists: true,
        count: '1',
        last: { state: 'known', letter: { code: 'CHUNK_BLANK', stage: 'decode' } },
      },
      engines: [{ target: engine.target, model: 'batch_embedder_ensemble', state: 'known', ready: true, version: '1' }],
      workers: [{ state: 'known', status: { worker: 'ingest-7', phase: 'running', ready: true } }],
    });
    const text = await world.run(['status', ...asked], known);
    expect(text.code, text.output).toBe(0);
    expect(text.output).toMatch(/^lag +0 {2}0\/s committed, 0\/s arriving {2}caught up$/m);
    expect(text.output).toMatch(/^ +0 +20 +20 +0 +0 {2}ingest-7$/m);
    expect(text.output).toMatch(/^group +Stable, 1 member$/m);
    expect(text.output).toMatch(/^retries +1 scheduled, 0 waiting, 0 active$/m);
    expect(text.output).toMatch(/^dead letters +1 in .*\.dlq, last CHUNK_BLANK \(decode\) \d+[sm] ago$/m);
    expect(text.output).toMatch(/^engine +ready {2}batch_embedder_ensemble version 1, \d+ dims, /m);
    expect(text.output).toMatch(/^ingest-7 +running +yes .* 4\/0\/0 +shm +ready$/m);
    expect(text.output + end.output).not.toContain('SENTINEL');
    expect(text.output).not.toContain('\u001b');

    const locked = await world.json(['--worker', urlOf(worker), ...quick], settings);
    expect(locked.end.code).toBe(1);
    expect(locked.status.workers).toMatchObject([{ state: 'away', code: 'OPS_ACCESS_DENIED' }]);
    const { groups } = await world.topic.admin.ask('list groups', (admin) => admin.listGroups());
    expect(groups.filter(({ groupId }) => groupId.includes('.reader.'))).toEqual([]);
  });

  it('a group that was never seen: everything is still to do, and nobody does it', async () => {
    await world.topic.create(2);
    await send(10, (n) => `text ${n}`);
    const { end, status } = await world.json(['--interval', '1', '--no-engine'], memory);
    expect(end.code, end.output).toBe(0);
    expect(status).toMatchObject({
      lag: '10',
      eta: { state: 'never' },
      offsets: { partitions: [{ committed: null, lag: '5' }, { committed: null }] },
      members: { group: 'Dead', members: [] },
      retries: { state: 'off' },
      deadLetters: { exists: false, count: '0' },
      engines: [],
      workers: [],
    });
    const text = await world.run(['status', ...quick], memory);
    expect(text.output).toMatch(/^group +never seen: nobody reads and nothing is committed$/m);
    expect(text.output).toMatch(/^dead letters +none: topic .*\.dlq is not there yet$/m);
  });

  it('a group without members keeps its offsets and what is stored beyond them', async () => {
    await world.topic.create(1);
    await world.topic.send(
      Array.from({ length: 10 }, (_, n) => chunkMessage({ chunkId: `c${n}`, documentId: 'd', text: 't' })),
    );
    const producer = world.topic.client.kafka.producer({ transactionalId: world.topic.topic, maxInFlightRequests: 1 });
    await producer.connect();
    const transaction = await producer.transaction();
    const committed = { partition: 0, offset: '2', metadata: encodeTail(2n, [{ start: 5n, end: 8n }]) };
    await transaction.sendOffsets({
      consumerGroupId: world.topic.group,
      topics: [{ topic: world.topic.topic, partitions: [committed] }],
    });
    await transaction.commit();
    await producer.disconnect();
    const { status } = await world.json(quick, memory);
    expect(status).toMatchObject({
      lag: '8',
      rate: null,
      eta: { state: 'unknown' },
      offsets: { partitions: [{ committed: '2', doneBeyond: '3' }] },
    });
    const text = await world.run(['status', ...quick], memory);
    expect(text.output).toMatch(/^lag +8 \(3 of it stored beyond the commits\)$/m);
    expect(text.output).toMatch(/^group +(Empty: nobody reads|Dead: nobody reads)$/m);
  });

  it('a topic that is missing, an engine, a Redis and a worker that are away: each with its code, and the rest goes on', async () => {
    const { end, status } = await world.json(['--worker', `http://127.0.0.1:${await freePort()}`, '--interval', '0'], {
      ...world.settings(AWAY, `redis://user:pw-SENTINEL@${AWAY}`),
    });
    expect(end.code).toBe(1);
    expect(status).toMatchObject({
      lag: null,
      offsets: { state: 'away', code: 'KAFKA_TOPIC_UNKNOWN' },
      members: { state: 'known', group: 'Dead' },
      retries: { state: 'away', code: 'RETRY_QUEUE_UNAVAILABLE' },
      deadLetters: { state: 'known', exists: false },
      engines: [{ target: AWAY, state: 'away', code: 'INFERENCE_UNAVAILABLE' }],
      workers: [{ state: 'away', code: 'OPS_UNAVAILABLE', reason: 'no answer (ECONNREFUSED)' }],
    });
    expect(end.output).not.toContain('SENTINEL');
    expect(await world.topic.admin.topicExists(world.topic.topic)).toBe(false);
    expect(await world.topic.admin.topicExists(world.dlq)).toBe(false);
  });

  it('a broker that is away: its parts say so, the engine is still shown', async () => {
    const engine = await startEngine();
    const { end, status } = await world.json(['--interval', '0'], {
      ...world.settings(engine.target, redis().url),
      KAFKA_BOOTSTRAP_SERVERS: AWAY,
    });
    expect(end.code).toBe(1);
    expect(status).toMatchObject({
      lag: null,
      rate: null,
      eta: null,
      offsets: { state: 'away', code: 'KAFKA_UNAVAILABLE' },
      members: { state: 'away', code: 'KAFKA_UNAVAILABLE' },
      deadLetters: { state: 'away', code: 'KAFKA_UNAVAILABLE' },
      retries: { state: 'known', delayed: 0 },
      engines: [{ state: 'known', ready: true }],
    });
  });

  it('what answers at a worker’s address and is none is told from one that is away; wrong usage is refused', async () => {
    const engine = await startEngine();
    await world.topic.create(1);
    const other = await world.json(['--worker', `http://127.0.0.1:${engine.httpPort}`, ...quick], memory);
    expect(other.end.code).toBe(1);
    expect(other.status.workers).toMatchObject([{ state: 'away', code: 'OPS_UNAVAILABLE' }]);
    const silent = createServer((socket) => socket.unref());
    await new Promise<void>((resolve) => silent.listen(0, '127.0.0.1', resolve));
    try {
      const { port } = silent.address() as { readonly port: number };
      const { status } = await world.json(['--worker', `http://127.0.0.1:${port}`, ...quick], memory);
      expect(status.workers).toMatchObject([{ state: 'away', reason: 'no answer within 5000 ms' }]);
    } finally {
      silent.close();
    }
    for (const [args, says] of [
      [['--worker', 'ftp://host'], 'Give http://host:port'],
      [['--worker', 'http://user:pw-SENTINEL@host'], 'Give http://host:port'],
      [['--refresh', '0'], 'Expected a number from 0.5'],
    ] as const) {
      const { code, output } = await world.run(['status', ...args], memory);
      expect(code, output).toBe(2);
      expect(output).toContain(says);
    }
  });
});
