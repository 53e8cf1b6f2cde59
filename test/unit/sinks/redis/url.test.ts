import { describe, expect, it } from 'vitest';
import { ServingError } from '../../../../src/errors.ts';
import { parseRedisUrl } from '../../../../src/sinks/redis/url.ts';

const plain = { host: 'redis.local', port: 6379, username: undefined, password: undefined, database: 0, tls: false };

describe('parseRedisUrl', () => {
  const good = [
    { url: 'redis://redis.local', address: plain },
    { url: 'redis://redis.local:7000/', address: { ...plain, port: 7000 } },
    { url: '  redis://redis.local\n', address: plain },
    { url: 'rediss://redis.local/15', address: { ...plain, tls: true, database: 15 } },
    { url: 'redis://[::1]:6380', address: { ...plain, host: '::1', port: 6380 } },
    { url: 'redis://:only@redis.local', address: { ...plain, password: 'only' } },
    {
      url: 'redis://default:p%40ss%3Aw%2Ford%231%2B%25@redis.local/1',
      address: { ...plain, username: 'default', password: 'p@ss:w/ord#1+%', database: 1 },
    },
    { url: 'redis://u:a+b@redis.local', address: { ...plain, username: 'u', password: 'a+b' } },
  ];
  for (const { url, address } of good) {
    it(`reads ${JSON.stringify(url)} (F03)`, () => expect(parseRedisUrl(url)).toEqual(address));
  }

  it('names the setting that it was given', () => {
    expect(() => parseRedisUrl('x', 'OTHER_URL')).toThrow(/^OTHER_URL got 1 character/);
  });

  const bad = [
    'redis://default:p@ss:w/ord#1+%@redis.local:6379/1',
    'redis://default:12#SENTINEL@redis.local',
    'redis://default:12?SENTINEL@redis.local',
    'redis://u:1/SENTINEL@redis.local',
    'redis://u:SENTINEL%@redis.local',
    'redis://u:SENTINEL%zz@redis.local',
    'redis://redis.local/SENTINEL',
    'redis://redis.local:port',
    'http://u:SENTINEL@redis.local',
    'redis.local:6379',
    'redis://u:SENTINEL\t@redis.local',
    'redis://',
    '',
  ];
  for (const url of bad) {
    it(`refuses ${JSON.stringify(url)} with the setting and a hint, without any part of it (F03, M09)`, () => {
      let thrown: unknown;
      try {
        parseRedisUrl(url);
      } catch (error) {
        thrown = error;
      }
      expect(thrown).toBeInstanceOf(ServingError);
      const error = thrown as ServingError;
      expect(error.code).toBe('CONFIG_INVALID');
      expect(error.message).toMatch(/RAG_SERVING_REDIS_URL.*percent-encode/);
      for (const secret of ['SENTINEL', 'p@ss', 'w/ord', 'redis.local']) expect(error.message).not.toContain(secret);
      expect(error.cause).toBeUndefined();
    });
  }
});
