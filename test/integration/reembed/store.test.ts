/** From stored text: killed in the middle, with updates and deletions meanwhile, on Redis; and without any broker on LanceDB. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, expect, it, onTestFinished } from 'vitest';
import { systemClock } from '../../../src/clock.ts';
import { createSink } from '../../../src/sinks/registry.ts';
import { silentLog } from '../../../src/telemetry/log.ts';
import { contractOf, rowOf, vectorOf } from '../../contract/sink-rows.ts';
import { useKafka, useRedis } from '../../support/stack.ts';
import { chunkMessage, endPrograms, eventually, startEngine, startWorker, TestTopic } from '../worker/harness.ts';
import { contentOf, reembed, rowsIn, startReembed, type World } from './world.ts';

const kafka = useKafka();
const redis = useRedis({ appendonly: true });
afterEach(endPrograms);

const messageOf = (n: number, more: object = {}) =>
  chunkMessage({ chunkId: `c${n}`, documentId: `d${n % 40}`, text: `SENTINEL ${n} ${JSON.stringify(more)}` }, more);

it('Redis: killed while it copies, with updates and deletions meanwhile, the new collection ends as the old one', async () => {
  const topic = new TestTopic(kafka().bootstrapServers);
  onTestFinished(() => topic.close());
  await topic.create(3);
  const [old, fresh] = await Promise.all([
    startEngine(['--synthetic', '--dims', '32']),
    startEngine(['--synthetic', '--dims', '48', '--per-text-us', '3000']),
  ]);
  const base = `${topic.topic}:`;
  const env = {
    ...topic.env(kafka().bootstrapServers),
    RAG_SERVING_BATCH_INGEST_GRPC_URL: old.target,
    RAG_SERVING_SINK: 'redis',
    RAG_SERVING_REDIS_URL: redis().url,
    RAG_SERVING_REDIS_KEY_PREFIX: base,
    RAG_SERVING_MAX_BATCH_SIZE: '32',
  };
  const choice = { name: 'redis', options: { url: redis().url, keyPrefix: base } } as const;
  const world: World = { env, choice, newModel: fresh.target };
  const to = `${base}v2:`;
  await startWorker(env);
  await topic.send(Array.from({ length: 2_000 }, (_, n) => messageOf(n)));
  await topic.untilLagZero();

  const wrong = await reembed(world, ['start', '--to', to, '--from', 'store'], {
    RAG_SERVING_BATCH_INGEST_GRPC_URL: old.target,
  });
  expect(wrong.output).toContain('vectors of this very model');
  expect(wrong.code).toBe(1);
  const inside = await reembed(world, ['start', '--to', `${base}chunk:x`, '--from', 'store']);
  expect(inside.output).toContain('lies among the keys of');
  expect(inside.code).toBe(2);
  expect((await rowsIn(world, to)).size).toBe(0);

  const first = startReembed(world, ['start', '--to', to, '--from', 'store']);
  await eventually('half of it is copied', async () => (await rowsIn(world, to)).size > 600);
  // Deletions of chunks lie in other partitions than their documents' chunks.
  await topic.send([
    ...Array.from({ length: 100 }, (_, n) => messageOf(n * 3, { version: 2 })),
    // None of the updated ones: between partitions the later arrival wins, and that may differ from one reader to the next.
    ...Array.from({ length: 60 }, (_, n) => ({ key: `c${n * 30 + 1}`, value: null })),
    { key: 'd7', value: null, headers: [['rag-scope', Buffer.from('document')]] },
    ...Array.from({ length: 20 }, (_, n) => messageOf(5_000 + n)),
  ]);
  await topic.untilLagZero();
  await first.kill();
  const refused = await reembed(world, ['switch', '--to', to, '--yes']);
  expect(refused.output).toContain('still being copied');
  expect(refused.code).toBe(1);

  const second = await reembed(world, ['start', '--to', to, '--from', 'store', '--until-caught-up']);
  expect(second.code, second.output.slice(-3_000)).toBe(0);
  const now = await rowsIn(world, base);
  expect(now.has('c7') || now.has('c31')).toBe(false);
  expect(contentOf(await rowsIn(world, to))).toEqual(contentOf(now));
  const verified = await reembed(world, ['verify', '--to', to, '--all', '--json']);
  expect(verified.lines.at(-1)).toMatchObject({ missing: 0, older: 0, foreign: 0, same: now.size });
  expect(verified.code).toBe(0);
  for (const { output } of [second, refused, verified]) expect(output).not.toContain('SENTINEL');

  const done = await reembed(world, ['switch', '--to', to, '--tolerance', '0', '--max-lag', '0', '--yes']);
  expect(done.code, done.output).toBe(0);
  const status = await reembed(world, ['status', '--json']);
  expect(status.lines.at(-1)).toMatchObject({ base, current: to, previous: base });
});

it('LanceDB without a broker: text is copied, rows without text are counted and make the exit code 1', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'rag-reembed-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const choice = { name: 'lancedb', options: { uri: folder, table: 'chunks' } } as const;
  const { target } = await startEngine(['--synthetic', '--dims', '16']);
  const env = { RAG_SERVING_SINK: 'lancedb', RAG_SERVING_LANCEDB_PATH: folder };
  const world: World = { env, choice, newModel: target };
  const sink = await createSink(choice, silentLog, systemClock);
  await sink.open(contractOf());
  const rows = Array.from({ length: 300 }, (_, n) =>
    rowOf(`c${n}`, {
      offset: BigInt(n),
      text: n < 297 ? `text ${n}` : undefined,
      version: n,
      vector: vectorOf([n, 1]),
    }),
  );
  await sink.write(rows);
  const ran = await reembed(world, ['start', '--to', 'chunks_v2', '--from', 'store']);
  expect(ran.code, ran.output).toBe(1);
  expect(ran.output).toMatch(/"copied":297.*"withoutText":3/);
  const there = await rowsIn(world, 'chunks_v2');
  expect(there.size).toBe(297);
  expect(there.get('c5')).toMatchObject({ source: rows[5]?.source, version: 5, text: 'text 5' });

  await sink.write([rowOf('c297', { offset: 900n, text: 'now with text', version: 900 })]);
  await sink.close();
  const again = await reembed(world, ['start', '--to', 'chunks_v2', '--from', 'store']);
  expect(again.output).toMatch(/"copied":298.*"withoutText":2/);
  const refused = await reembed(world, ['switch', '--to', 'chunks_v2', '--tolerance', '0', '--yes']);
  expect(refused.output).toMatch(/FAILS +sample/);
  expect(refused.code).toBe(1);
  const done = await reembed(world, ['switch', '--to', 'chunks_v2', '--yes']);
  expect(done.code, done.output).toBe(0);
  const back = await reembed(world, ['rollback', '--yes', '--json']);
  expect(back.lines.at(-1)).toMatchObject({ event: 'reembed-rollback', from: 'chunks_v2', to: 'chunks', done: true });
  const read = await reembed(world, ['drop', '--collection', 'chunks', '--yes']);
  expect(read.output).toContain('switch them first');
  const dropped = await reembed(world, ['drop', '--collection', 'chunks_v2', '--yes']);
  expect(dropped.code, dropped.output).toBe(0);
  expect((await rowsIn(world, 'chunks_v2')).size).toBe(0);
  expect((await rowsIn(world, 'chunks')).size).toBe(300);
});
