/**
 * A Redis URL taken apart; pure. Messages name the setting it came from.
 *
 * Stricter than ioredis on purpose: a password with a raw `/`, `#` or `?` can still look like a URL with another host or
 * database, and a worker would then talk to the wrong server. No message repeats any part of the URL.
 */
import { ServingError } from '../../errors.ts';

export type RedisAddress = {
  readonly host: string;
  readonly port: number;
  readonly username: string | undefined;
  readonly password: string | undefined;
  readonly database: number;
  readonly tls: boolean;
};

const HINT =
  'it must read redis://user:password@host:port/database (rediss:// for TLS); special characters in user and password are ' +
  'percent-encoded: @ as %40, : as %3A, / as %2F, # as %23, ? as %3F, % as %25';

export function parseRedisUrl(raw: string, setting = 'RAG_SERVING_REDIS_URL'): RedisAddress {
  const invalid = (why: string) => new ServingError('CONFIG_INVALID', `${setting} ${why}: ${HINT}`);
  const text = raw.trim();
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined || (url.protocol !== 'redis:' && url.protocol !== 'rediss:') || url.hostname === '') {
    throw invalid(`has ${text.length} characters and is no Redis URL`);
  }
  if (url.hash !== '' || url.search !== '') throw invalid('has a "#" or "?" part, which a Redis URL does not have');
  const database = /^\/?(\d{0,5})$/.exec(url.pathname)?.[1];
  if (database === undefined) throw invalid('has a path that is no database number');
  return {
    // IPv6 addresses stand in brackets in a URL only.
    host: url.hostname.replace(/^\[(.*)\]$/, '$1'),
    port: url.port === '' ? 6379 : Number(url.port),
    username: decode(url.username, invalid),
    password: decode(url.password, invalid),
    database: Number(database),
    tls: url.protocol === 'rediss:',
  };
}

function decode(part: string, invalid: (why: string) => ServingError): string | undefined {
  if (part === '') return undefined;
  try {
    return decodeURIComponent(part);
  } catch {
    throw invalid('has a "%" in its user or password that does not begin an escape');
  }
}
