/**
 * A Redis URL taken apart: the one judge of what is one, for the settings and for whoever connects. Pure.
 *
 * Stricter than ioredis on purpose: a password with a raw `/`, `#` or `?` can still look like a URL with another host or
 * database, and a worker would then talk to the wrong server. No message repeats any part of the URL.
 */
import { ok, type Parsed, refuse, shapeOf } from './setting.ts';
import { decoded } from './url-part.ts';

export type RedisAddress = {
  readonly host: string;
  readonly port: number;
  readonly username: string | undefined;
  readonly password: string | undefined;
  readonly database: number;
  readonly tls: boolean;
};

// No example with a password: the redactor of messages would cut it out.
const REMEDY =
  'set a redis:// URL (rediss:// for TLS) with host, port and database number, and before the host user and password, their ' +
  'special characters percent-encoded: @ is %40, : is %3A, / is %2F, # is %23, ? is %3F, % is %25';

export function judgeRedisUrl(raw: string): Parsed<RedisAddress> {
  const text = raw.trim();
  // The URL parser would drop tabs and line breaks.
  const url = !/\s/.test(text) && URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined || (url.protocol !== 'redis:' && url.protocol !== 'rediss:') || url.hostname === '') {
    return refuse(`got ${shapeOf(text)} that are no Redis URL; ${REMEDY}`);
  }
  if (/pass|user/i.test(url.search)) {
    return refuse('got credentials behind "?"; put them before the host, as user:password@');
  }
  const database = /^\/?(\d{0,5})$/.exec(url.pathname)?.[1];
  if (url.hash !== '' || url.search !== '' || database === undefined) {
    return refuse(`got a URL of ${shapeOf(text)} with more than host, port and database number; ${REMEDY}`);
  }
  const [username, password] = [decoded(url.username), decoded(url.password)];
  if (username === null || password === null) {
    return refuse(`got a URL of ${shapeOf(text)} with a stray % in its credentials; ${REMEDY}`);
  }
  return ok({
    // IPv6 addresses stand in brackets in a URL only.
    host: url.hostname.replace(/^\[(.*)\]$/, '$1'),
    port: url.port === '' ? 6379 : Number(url.port),
    username,
    password,
    database: Number(database),
    tls: url.protocol === 'rediss:',
  });
}
