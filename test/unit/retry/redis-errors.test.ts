import { describe, expect, it } from 'vitest';
import { ServingError } from '../../../src/errors.ts';
import { isHopeless, isLostJob, retryError } from '../../../src/retry/redis-errors.ts';

function reply(message: string): Error {
  return Object.assign(new Error(message), { name: 'ReplyError', command: { name: 'evalsha', args: ['SENTINEL'] } });
}

const cases: readonly (readonly [string, unknown, string, string])[] = [
  ['full', reply("OOM command not allowed when used memory > 'maxmemory'."), 'RETRY_QUEUE_FULL', 'OOM'],
  [
    'full, said before Redis 7',
    reply('ERR Error running script: @user_script:7: -OOM command'),
    'RETRY_QUEUE_FULL',
    'OOM',
  ],
  ['read-only', reply("READONLY You can't write against a read only replica."), 'RETRY_QUEUE_UNAVAILABLE', 'READONLY'],
  ['disk', reply('MISCONF Redis is configured to save RDB snapshots'), 'RETRY_QUEUE_UNAVAILABLE', 'MISCONF'],
  ['loading', reply('LOADING Redis is loading the dataset in memory'), 'RETRY_QUEUE_UNAVAILABLE', 'LOADING'],
  ['password', reply('WRONGPASS invalid username-password pair'), 'RETRY_QUEUE_ACCESS_DENIED', 'WRONGPASS'],
  ['rights', reply('NOPERM this user has no permissions'), 'RETRY_QUEUE_ACCESS_DENIED', 'NOPERM'],
  ['cluster', reply('MOVED 3999 127.0.0.1:6381'), 'CONFIG_INVALID', 'MOVED'],
  ['refused', Object.assign(new Error('connect'), { code: 'ECONNREFUSED' }), 'RETRY_QUEUE_UNAVAILABLE', 'ECONNREFUSED'],
  ['silent', new Error('Command timed out'), 'RETRY_QUEUE_UNAVAILABLE', 'TIMEOUT'],
  ['unknown', 'SENTINEL', 'RETRY_QUEUE_UNAVAILABLE', 'string'],
];

describe('errors of the retry queue', () => {
  for (const [name, error, code, label] of cases) {
    it(`${name}: ${code}, without a word of what was sent`, () => {
      const translated = retryError(error, 'hand over', 'redis:6379');
      expect(translated.code).toBe(code);
      expect(translated.message).toContain(label);
      expect(JSON.stringify([translated.message, { ...(translated.cause as Error) }])).not.toContain('SENTINEL');
      expect(isHopeless(error)).toBe(translated.failureClass === 'fatal');
    });
  }

  it('leaves what is one of ours alone', () => {
    const ours = new ServingError('RETRY_QUEUE_UNAVAILABLE', 'x');
    expect(retryError(ours, 'y', 'z')).toBe(ours);
  });

  it('knows a job that is no longer ours by the number that BullMQ puts on the error', () => {
    expect(isLostJob(Object.assign(new Error('Missing lock for job x'), { code: -2 }))).toBe(true);
    expect(isLostJob(Object.assign(new Error('x'), { code: 'ECONNRESET' }))).toBe(false);
    expect(isLostJob('x')).toBe(false);
  });
});
