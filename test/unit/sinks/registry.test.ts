import { describe, expect, it } from 'vitest';
import { systemClock } from '../../../src/clock.ts';
import { createSink, sinkNamed, sinkNames } from '../../../src/sinks/registry.ts';
import { silentLog } from '../../../src/telemetry/log.ts';

describe('registry', () => {
  it('knows its names, and lists them for any other', () => {
    for (const name of sinkNames) expect(sinkNamed(name)).toBe(name);
    for (const name of ['qdrant', '', 'Redis', 'toString']) {
      expect(() => sinkNamed(name)).toThrow(
        expect.objectContaining({ code: 'CONFIG_INVALID', message: expect.stringMatching(/lancedb, redis, memory/) }),
      );
    }
  });

  it('makes each sink without connecting to anything', async () => {
    const sinks = await Promise.all([
      createSink({ name: 'lancedb', options: { uri: '/nowhere', table: 'chunks' } }, silentLog, systemClock),
      createSink({ name: 'redis', options: { url: 'redis://127.0.0.1:1' } }, silentLog, systemClock),
      createSink({ name: 'memory' }, silentLog, systemClock),
    ]);
    expect(sinks.map((sink) => sink.name)).toEqual([...sinkNames]);
    for (const sink of sinks) await sink.close();
  });

  it('refuses bad options before anything is opened', async () => {
    const bad = [
      { name: 'lancedb', options: { uri: ' ', table: 'chunks' } },
      { name: 'lancedb', options: { uri: 'x', table: '../up' } },
      { name: 'redis', options: { url: 'http://host' } },
      { name: 'redis', options: { url: 'redis://host', keyPrefix: '' } },
    ] as const;
    for (const choice of bad)
      await expect(createSink(choice, silentLog, systemClock)).rejects.toMatchObject({ code: 'CONFIG_INVALID' });
  });
});
