/** Addresses, passwords and rights of the Redis sink against a real Redis; nothing secret in any message (F03, M09). */
import { describe, expect, it } from 'vitest';
import { freePort } from '../../scripts/stack/free-port.ts';
import { ServingError } from '../../src/errors.ts';
import { useRedis } from '../support/stack.ts';
import { createRedisSink, openRedisSink, plainClient, recordingLog, spell } from './redis-sink-client.ts';
import { contractOf, rowOf } from './sink-rows.ts';

const SENTINEL = 'pw-SENTINEL';

describe('with rights', () => {
  const redis = useRedis();
  const addressOf = () => redis().url.replace('redis://', '');

  it('a password full of special characters works percent-encoded, with white space around the URL (F03)', async () => {
    const client = plainClient(redis().url);
    await client.acl('SETUSER', 'special', 'on', '>p@ss:w/ord#1+%', '~*', '&*', '+@all');
    const sink = await openRedisSink({
      url: ` redis://special:p%40ss%3Aw%2Ford%231%2B%25@${addressOf()}/1\n`,
      keyPrefix: 'f03:',
    });
    await sink.write([rowOf('a')]);
    await client.select(1);
    expect(await client.hget('f03:chunk:a', 'chunk_id')).toBe('a');
  });

  it('a wrong password is fatal at once, and shows nowhere (M09)', async () => {
    await plainClient(redis().url).acl('SETUSER', 'known', 'on', '>right', '~*', '&*', '+@all');
    const log = recordingLog();
    const sink = await createRedisSink(
      { url: `redis://known:${SENTINEL}@${addressOf()}`, connectTimeoutMs: 10_000 },
      log,
    );
    const startedAt = performance.now();
    const error = await sink.open(contractOf()).catch((cause: unknown) => cause);
    expect(error).toMatchObject({
      code: 'SINK_ACCESS_DENIED',
      failureClass: 'fatal',
      message: expect.stringContaining('WRONGPASS'),
    });
    expect(performance.now() - startedAt).toBeLessThan(5_000);
    expect(`${spell(error)}${log.lines.join('\n')}`).not.toContain(SENTINEL);
  });

  it('no password where one is needed is fatal and names the setting', async () => {
    const client = plainClient(redis().url);
    await client.config('SET', 'requirepass', SENTINEL);
    try {
      const sink = await createRedisSink({ url: redis().url });
      await expect(sink.open(contractOf())).rejects.toMatchObject({
        code: 'SINK_ACCESS_DENIED',
        message: expect.stringMatching(/NOAUTH.*RAG_SERVING_REDIS_URL/),
      });
    } finally {
      await client.config('SET', 'requirepass', '');
    }
  });

  it('a user without the right to run scripts is fatal', async () => {
    await plainClient(redis().url).acl('SETUSER', 'weak', 'on', '>weak', '~*', '&*', '+@all', '-@scripting');
    const sink = await createRedisSink({ url: `redis://weak:weak@${addressOf()}` });
    await expect(sink.open(contractOf())).rejects.toMatchObject({
      code: 'SINK_ACCESS_DENIED',
      message: expect.stringContaining('NOPERM'),
    });
  });

  it('text and vectors of a failed write are in no part of its error (M09)', async () => {
    const client = plainClient(redis().url);
    const sink = await openRedisSink({ url: redis().url, keyPrefix: 'leak:' });
    await client.set('leak:chunk:a', 'not a hash');
    const [outcome] = await sink.write([rowOf('a', { text: 'text-SENTINEL', metadata: { secret: 'meta-SENTINEL' } })]);
    expect(outcome?.kind).toBe('refused');
    expect(spell(outcome)).not.toContain('SENTINEL');
  });

  it('TLS towards a server that speaks none ends within the limit', async () => {
    const sink = await createRedisSink({ url: redis().url.replace('redis:', 'rediss:') });
    await expect(sink.open(contractOf())).rejects.toMatchObject({ code: 'SINK_UNAVAILABLE' });
  });
});

it('nobody there: open ends within its limit, and the password shows nowhere (M09)', async () => {
  const log = recordingLog();
  const sink = await createRedisSink({ url: `redis://:${SENTINEL}@127.0.0.1:${await freePort()}` }, log);
  const startedAt = performance.now();
  const error = await sink.open(contractOf()).catch((cause: unknown) => cause);
  expect(performance.now() - startedAt).toBeLessThan(4_000);
  expect(error).toBeInstanceOf(ServingError);
  expect(error).toMatchObject({ code: 'SINK_UNAVAILABLE', message: expect.stringContaining('ECONNREFUSED') });
  expect(`${spell(error)}${log.lines.join('\n')}`).not.toContain(SENTINEL);
  expect(log.lines.filter((line) => line.includes('redis connection failed')).length).toBe(1);
});
