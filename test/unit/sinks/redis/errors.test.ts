import { describe, expect, it } from 'vitest';
import { isHopeless, isNoScript, translateRedisError } from '../../../../src/sinks/redis/errors.ts';
import { redisKeys } from '../../../../src/sinks/redis/keys.ts';

function reply(message: string): Error {
  const command = { name: 'auth', args: ['pw-SENTINEL', 'text-SENTINEL'] };
  return Object.assign(new Error(message), { name: 'ReplyError', command });
}

const cases = [
  {
    message: 'WRONGTYPE Operation against a key holding the wrong kind of value',
    code: 'SINK_ROW_REFUSED',
    class: 'chunk',
  },
  { message: "OOM command not allowed when used memory > 'maxmemory'.", code: 'SINK_FULL', class: 'outage' },
  { message: 'MISCONF Redis is configured to save RDB snapshots', code: 'SINK_UNAVAILABLE', class: 'outage' },
  { message: "READONLY You can't write against a read only replica.", code: 'SINK_UNAVAILABLE', class: 'outage' },
  { message: 'LOADING Redis is loading the dataset in memory', code: 'SINK_UNAVAILABLE', class: 'outage' },
  { message: 'MASTERDOWN Link with MASTER is down', code: 'SINK_UNAVAILABLE', class: 'outage' },
  { message: 'CLUSTERDOWN The cluster is down', code: 'SINK_UNAVAILABLE', class: 'outage' },
  { message: 'BUSY Redis is busy running a script.', code: 'SINK_UNAVAILABLE', class: 'outage' },
  { message: 'NOAUTH Authentication required.', code: 'SINK_ACCESS_DENIED', class: 'fatal' },
  { message: 'WRONGPASS invalid username-password pair', code: 'SINK_ACCESS_DENIED', class: 'fatal' },
  { message: 'NOPERM this user has no permissions', code: 'SINK_ACCESS_DENIED', class: 'fatal' },
  { message: 'MOVED 3999 127.0.0.1:6381', code: 'CONFIG_INVALID', class: 'fatal' },
  {
    message: "ERR unknown command 'x', with args beginning with: 'text-SENTINEL'",
    code: 'SINK_UNAVAILABLE',
    class: 'outage',
  },
];

describe('translateRedisError', () => {
  for (const { message, code, class: failureClass } of cases) {
    it(`${message.split(' ')[0]} is ${code}, ${failureClass}, and shows no argument of the command (M09)`, () => {
      const error = translateRedisError(reply(message), 'write', 'redis.local:6379');
      expect(error).toMatchObject({ code, failureClass });
      expect(error.message).toMatch(/write.*redis\.local:6379/);
      expect(JSON.stringify([error, error.message, error.cause, (error.cause as Error).message])).not.toContain(
        'SENTINEL',
      );
    });
  }

  it('a lost connection, a refused one and a silent one are outages that say which', () => {
    const refused = Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' });
    expect(translateRedisError(refused, 'ping', 'h:1').message).toContain('ECONNREFUSED');
    expect(translateRedisError(new Error('Command timed out'), 'ping', 'h:1').message).toContain('TIMEOUT');
    const offline = new Error("Stream isn't writeable and enableOfflineQueue options is false");
    expect(translateRedisError(offline, 'ping', 'h:1')).toMatchObject({
      code: 'SINK_UNAVAILABLE',
      failureClass: 'outage',
    });
    expect(translateRedisError('odd', 'ping', 'h:1').failureClass).toBe('outage');
  });

  it('knows what waiting cannot heal, and a missing script', () => {
    expect(isHopeless(reply('WRONGPASS x'))).toBe(true);
    expect(isHopeless(reply('LOADING x'))).toBe(false);
    expect(isHopeless(undefined)).toBe(false);
    expect(isNoScript(reply('NOSCRIPT No matching script.'))).toBe(true);
    expect(isNoScript(reply('ERR x'))).toBe(false);
  });
});

describe('redisKeys', () => {
  it('a prefix with pattern characters matches itself only', () => {
    expect(redisKeys('a*[b]?\\:').chunkPattern).toBe('a\\*\\[b\\]\\?\\\\:chunk:*');
  });
});
