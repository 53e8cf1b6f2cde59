/** Addresses, rights and set-up of the Redis of retries; nothing secret in any message. */
import type { AddressInfo } from 'node:net';
import { createServer } from 'node:tls';
import { describe, expect, it } from 'vitest';
import { useRedis } from '../../support/stack.ts';
import { oneCert, oneKey } from '../../unit/config/pem.ts';
import { spell } from '../redis-sink-client.ts';
import { DONE, entryOf, freshTopic, openQueue, PATIENCE, plainClient, recorded, recordingLog } from './fixture.ts';

describe('rights', () => {
  const redis = useRedis();
  const addressOf = () => redis().url.replace('redis://', '');
  const allow = (user: string, password: string, ...rights: string[]) =>
    plainClient(redis().url).acl('SETUSER', user, 'on', `>${password}`, '~*', '&*', ...rights);

  it('a password full of special characters works percent-encoded, in another database (F03)', async () => {
    await allow('special', 'p@ss:w/ord#1+%', '+@all');
    const topic = freshTopic();
    const queue = openQueue(topic, { url: ` redis://special:p%40ss%3Aw%2Ford%231%2B%25@${addressOf()}/1\n` });
    const { runs, run } = recorded(() => DONE);
    await queue.start(run);
    await queue.handOver([entryOf(topic, 1)]);
    await expect.poll(() => runs.length, PATIENCE).toBe(1);
    const other = plainClient(redis().url);
    await other.select(1);
    expect((await other.keys(`retry-test:*${topic}*`)).length).toBeGreaterThan(0);
  });

  it('a wrong password is fatal at the start and at the hand-over, and shows nowhere (M09)', async () => {
    await allow('known', 'right', '+@all');
    const log = recordingLog();
    const topic = freshTopic();
    const queue = openQueue(topic, { url: `redis://known:pw-SENTINEL@${addressOf()}`, log });
    const denied = { failureClass: 'fatal', message: expect.stringMatching(/WRONGPASS.*RAG_SERVING_RETRY_REDIS_URL/) };
    const { run } = recorded(() => DONE);
    const error = await queue.start(run).catch((cause: unknown) => cause);
    expect(error).toMatchObject(denied);
    await expect(queue.handOver([entryOf(topic, 1)])).rejects.toMatchObject(denied);
    expect(log.lines.join('\n') + spell(error)).not.toContain('SENTINEL');
  });

  it('a user who may not write is told so, and no message holds the text', async () => {
    await allow('reader', 'right', '+@read', '+@connection');
    const log = recordingLog();
    const topic = freshTopic();
    const queue = openQueue(topic, { url: `redis://reader:right@${addressOf()}`, log });
    const error = await queue.handOver([entryOf(topic, 1)]).catch((cause: unknown) => cause);
    expect(error).toMatchObject({ code: 'RETRY_QUEUE_ACCESS_DENIED', message: expect.stringContaining('NOPERM') });
    const told = log.lines.join('\n') + spell(error);
    expect(told).not.toContain('text of 1');
    expect(told).not.toContain(Buffer.from('{"chunk_id":"c1"').toString('base64').slice(0, 16));
  });

  it('a user who may not read the settings of the server still works', async () => {
    await allow('plain', 'right', '+@all', '-config', '-info');
    const topic = freshTopic();
    const queue = openQueue(topic, { url: `redis://plain:right@${addressOf()}` });
    const { runs, run } = recorded(() => DONE);
    await queue.start(run);
    await queue.handOver([entryOf(topic, 1)]);
    await expect.poll(() => runs.length, PATIENCE).toBe(1);
  });
});

describe('rediss://', () => {
  it('speaks TLS, trusts the given authority and checks the name', async () => {
    const server = createServer({ cert: oneCert, key: oneKey }, (socket) => socket.destroy());
    server.on('tlsClientError', () => undefined);
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    try {
      const { port } = server.address() as AddressInfo;
      for (const [tlsCa, reason] of [
        [undefined, 'DEPTH_ZERO_SELF_SIGNED_CERT'],
        [oneCert, 'ERR_TLS_CERT_ALTNAME_INVALID'],
      ] as const) {
        const log = recordingLog();
        openQueue(freshTopic(), { url: `rediss://127.0.0.1:${port}`, log, tlsCa });
        await expect.poll(() => log.lines.join('\n'), PATIENCE).toContain(reason);
      }
    } finally {
      server.close();
    }
  });
});

describe('set-up of the server', () => {
  const redis = useRedis();
  const warningsOf = (lines: readonly string[]) => lines.filter((line) => line.includes('"warning"')).join('\n');

  it('warns of eviction and of missing persistence, and not otherwise', async () => {
    const client = plainClient(redis().url);
    await client.config('SET', 'maxmemory-policy', 'allkeys-lru');
    const log = recordingLog();
    const { run } = recorded(() => DONE);
    await openQueue(freshTopic(), { url: redis().url, log }).start(run);
    await expect.poll(() => warningsOf(log.lines), PATIENCE).toMatch(/allkeys-lru.*noeviction.*appendonly/s);
    await client.config('SET', 'maxmemory-policy', 'noeviction');
    await client.config('SET', 'appendonly', 'yes');
    const calm = recordingLog();
    const queue = openQueue(freshTopic(), { url: redis().url, log: calm });
    await queue.start(run);
    await expect.poll(() => queue.counts(), PATIENCE).toBeDefined();
    expect(warningsOf(calm.lines)).toBe('');
  });
});
