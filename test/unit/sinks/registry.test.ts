import { describe, expect, it } from 'vitest';
import { systemClock } from '../../../src/clock.ts';
import { sinkKinds } from '../../../src/config/sections/sink.ts';
import { createSink } from '../../../src/sinks/registry.ts';
import { silentLog } from '../../../src/telemetry/log.ts';

const topicOptions = {
  connection: { bootstrapServers: ['127.0.0.1:1'], sasl: undefined, tls: undefined },
  source: { groupId: 'group', topic: 'chunks' },
  topic: 'embeddings',
} as const;

describe('registry', () => {
  it('makes each sink without connecting to anything', async () => {
    const sinks = await Promise.all([
      createSink({ name: 'lancedb', options: { uri: '/nowhere', table: 'chunks' } }, silentLog, systemClock),
      createSink({ name: 'redis', options: { url: 'redis://127.0.0.1:1' } }, silentLog, systemClock),
      createSink({ name: 'pgvector', options: { url: 'postgres://u@127.0.0.1:1/db' } }, silentLog, systemClock),
      createSink({ name: 'kafka-topic', options: topicOptions }, silentLog, systemClock),
      createSink({ name: 'memory' }, silentLog, systemClock),
    ]);
    expect(sinks.map((sink) => sink.name)).toEqual(sinkKinds.filter((kind) => kind !== 'module'));
    for (const sink of sinks) await sink.close();
  });

  it('makes a fan-out of several, named after them', async () => {
    const members = [{ name: 'memory' }, { name: 'redis', options: { url: 'redis://127.0.0.1:1' } }] as const;
    const sink = await createSink({ name: 'fan-out', members }, silentLog, systemClock);
    expect(sink.name).toBe('memory+redis');
    await sink.close();
    await expect(createSink({ name: 'fan-out', members: [] }, silentLog, systemClock)).rejects.toMatchObject({
      code: 'CONFIG_INVALID',
    });
  });

  it('refuses bad options before anything is opened', async () => {
    const bad = [
      { name: 'lancedb', options: { uri: ' ', table: 'chunks' } },
      { name: 'lancedb', options: { uri: 'x', table: '../up' } },
      { name: 'redis', options: { url: 'http://host' } },
      { name: 'redis', options: { url: 'redis://host', keyPrefix: '' } },
      { name: 'redis', options: { url: 'redis://host', tombstoneRetentionMs: 0 } },
      { name: 'lancedb', options: { uri: 'x', table: 'chunks', tombstoneRetentionMs: 1.5 } },
      { name: 'pgvector', options: { url: 'http://host' } },
      { name: 'pgvector', options: { url: 'postgres://u@host', table: 'a; drop' } },
      { name: 'pgvector', options: { url: 'postgres://u@host', tombstoneRetentionMs: 0 } },
      { name: 'kafka-topic', options: { ...topicOptions, topic: 'a/b' } },
      { name: 'kafka-topic', options: { ...topicOptions, topic: topicOptions.source.topic } },
      { name: 'memory', options: { tombstoneRetentionMs: -1 } },
    ] as const;
    for (const choice of bad)
      await expect(createSink(choice, silentLog, systemClock)).rejects.toMatchObject({ code: 'CONFIG_INVALID' });
  });
});
