/** From the topic into PostgreSQL, with vectors of other dims: killed, followed, switched, both kept fresh, rolled back, dropped. */
import { afterEach, expect, it, onTestFinished } from 'vitest';
import { systemClock } from '../../../src/clock.ts';
import { currentChoice } from '../../../src/sinks/changeover.ts';
import { createSink } from '../../../src/sinks/registry.ts';
import { silentLog } from '../../../src/telemetry/log.ts';
import { useKafka, usePostgres } from '../../support/stack.ts';
import { chunkMessage, endPrograms, eventually, startEngine, startWorker, TestTopic } from '../worker/harness.ts';
import { contentOf, reembed, rowsIn, startReembed, type World } from './world.ts';

const kafka = useKafka();
const postgres = usePostgres();
afterEach(endPrograms);

const messageOf = (n: number, more: object = {}) =>
  chunkMessage({ chunkId: `c${n}`, documentId: `d${n % 40}`, text: `SENTINEL ${n} ${JSON.stringify(more)}` }, more);

it('a model of other dims takes over and gives back, and both collections stay fresh all the while', async () => {
  const topic = new TestTopic(kafka().bootstrapServers);
  onTestFinished(() => topic.close());
  await topic.create(2);
  const [old, fresh] = await Promise.all([
    startEngine(['--synthetic', '--dims', '32']),
    startEngine(['--synthetic', '--dims', '48', '--per-text-us', '1000']),
  ]);
  const base = topic.topic.replaceAll('.', '_');
  const to = `${base}_v2`;
  const env = {
    ...topic.env(kafka().bootstrapServers),
    RAG_SERVING_BATCH_INGEST_GRPC_URL: old.target,
    RAG_SERVING_SINK: 'pgvector',
    RAG_SERVING_PGVECTOR_URL: postgres().url,
    RAG_SERVING_PGVECTOR_TABLE: base,
  };
  const choice = { name: 'pgvector', options: { url: postgres().url, table: base } } as const;
  const world: World = { env, choice, newModel: fresh.target };
  await startWorker(env);
  await topic.send(Array.from({ length: 1_500 }, (_, n) => messageOf(n)));
  await topic.untilLagZero();
  const early = await reembed(world, ['switch', '--to', to, '--yes']);
  expect(early.output).toContain('does not exist: fill it with rag-serving reembed start');
  expect(early.code).toBe(2);

  const first = startReembed(world, ['start', '--to', to, '--from', 'topic']);
  await eventually('some are there', async () => (await rowsIn(world, to)).size > 200);
  await first.kill();
  const behind = await reembed(world, ['switch', '--to', to, '--max-lag', '0', '--yes', '--json']);
  expect(behind.code, behind.output).toBe(1);
  expect(behind.lines[0]).toMatchObject({ event: 'reembed-switch', done: false });

  const second = startReembed(world, ['start', '--to', to, '--from', 'topic']);
  await second.line(({ msg }) => msg === 'caught up with the topic', 60_000);
  const group = `${topic.group}.reembed.${to}`;
  const untilBoth = async () => {
    await topic.untilLagZero();
    await eventually('the new one too', async () =>
      (await topic.admin.lag(group, topic.topic)).every(({ lag }) => lag === 0n),
    );
  };
  await topic.send([messageOf(3, { version: 9 }), { key: 'c4', value: null }, messageOf(9_001)]);
  await untilBoth();
  expect(contentOf(await rowsIn(world, to))).toEqual(contentOf(await rowsIn(world, base)));

  const dry = await reembed(world, ['switch', '--to', to, '--dry-run']);
  expect(dry.output).toContain('would switch readers');
  const done = await reembed(world, ['switch', '--to', to, '--tolerance', '0', '--yes']);
  expect(done.code, done.output).toBe(0);
  const reader = await createSink(await currentChoice(choice, silentLog), silentLog, systemClock);
  expect(await reader.inspect()).toMatchObject({ dims: 48, rows: 1_500 });
  await reader.close();

  await topic.send([messageOf(9_002), { key: 'c5', value: null }]);
  await untilBoth();
  expect(contentOf(await rowsIn(world, to))).toEqual(contentOf(await rowsIn(world, base)));
  const back = await reembed(world, ['rollback', '--yes']);
  expect(back.code, back.output).toBe(0);
  expect(await currentChoice(choice, silentLog)).toMatchObject({ options: { table: base } });
  const status = await reembed(world, ['status']);
  expect(status.output).toMatch(new RegExp(`^${base} +current +1500 `, 'm'));

  const live = await reembed(world, ['drop', '--collection', to, '--yes']);
  expect(live.output).toContain('stop its workers first');
  expect((await second.stop()).code).toBe(0);
  const dropped = await reembed(world, ['drop', '--collection', to, '--yes']);
  expect(dropped.code, dropped.output).toBe(0);
  expect((await rowsIn(world, to)).size).toBe(0);
  for (const { output } of [early, behind, dry, done, back, status]) expect(output).not.toContain('SENTINEL');
});
