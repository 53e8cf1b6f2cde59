/** Settings that are addresses: URLs, gRPC targets, broker lists. Refuses what a client would take and then never reach. */
import { judgePostgresUrl } from './postgres-url.ts';
import { judgeRedisUrl } from './redis-url.ts';
import { Secret } from './secret.ts';
import {
  always,
  type Doc,
  defineSetting,
  type Fallback,
  ok,
  type Parsed,
  refuse,
  type Setting,
  shapeOf,
  unset,
} from './setting.ts';
import { maskUrlCredentials } from './url-masking.ts';

export function url<T extends string | undefined>(
  name: string,
  fallback: Fallback<T>,
  schemes: readonly string[],
  about: Doc,
): Setting<string | T> {
  const accepts = `URL (${schemes.map((scheme) => `${scheme}://`).join(', ')})`;
  return defineSetting<string | T>(name, accepts, fallback, about, (value) => {
    const parsed = parseUrl(value, schemes);
    return parsed.ok ? ok(value) : parsed;
  });
}

/** May hold a password, so it is a Secret; prints as the URL without credentials. */
export function redisUrl(name: string, fallback: string, about: Doc): Setting<Secret> {
  return defineSetting<Secret>(name, REDIS_URL, always(sealUrl(fallback)), about, parseRedisUrl);
}

export function optionalRedisUrl(name: string, about: Doc): Setting<Secret | undefined> {
  return defineSetting<Secret | undefined>(name, REDIS_URL, unset, about, parseRedisUrl);
}

/** As `redisUrl`. */
export function postgresUrl(name: string, fallback: string, about: Doc): Setting<Secret> {
  return defineSetting<Secret>(name, 'URL (postgres://)', always(sealUrl(fallback)), about, (value) => {
    const judged = judgePostgresUrl(value);
    return judged.ok ? ok(sealUrl(value)) : judged;
  });
}

const REDIS_URL = 'URL (redis://, rediss://)';

function sealUrl(value: string): Secret {
  return new Secret(value, maskUrlCredentials(value));
}

function parseRedisUrl(value: string): Parsed<Secret> {
  const judged = judgeRedisUrl(value);
  return judged.ok ? ok(sealUrl(value)) : judged;
}

function parseUrl(value: string, schemes: readonly string[]): Parsed<URL> {
  const remedy = `set a URL that starts with ${schemes.map((scheme) => `${scheme}://`).join(' or ')}`;
  if (/\s/.test(value)) return refuse(`got ${shapeOf(value)} with white space inside; ${remedy}`);
  if (!schemes.some((scheme) => value.toLowerCase().startsWith(`${scheme}://`))) {
    return refuse(`got ${shapeOf(value)} with another beginning; ${remedy}`);
  }
  if (!URL.canParse(value)) return refuse(`got ${shapeOf(value)} that are no valid URL; ${remedy}`);
  const parsed = new URL(value);
  return parsed.hostname === '' && !schemes.includes('file')
    ? refuse(`got a URL without a host; ${remedy}`)
    : ok(parsed);
}

/** `host:port` and `[v6]:port`, comma-separated; gRPC targets also `dns:///name:port`, with a name server, and `unix:/path`. */
export type ListKind = 'brokers' | 'grpc';

export function hostList<T extends readonly string[] | undefined>(
  name: string,
  kind: ListKind,
  fallback: Fallback<T>,
  about: Doc,
): Setting<readonly string[] | T> {
  const accepts = kind === 'grpc' ? 'comma list of host:port, dns:///name:port, unix:/path' : 'comma list of host:port';
  return defineSetting<readonly string[] | T>(name, accepts, fallback, about, (value) => {
    const entries = value.split(',').map((entry) => entry.trim());
    for (const [index, entry] of entries.entries()) {
      const problem = hostProblem(entry, kind);
      if (problem !== undefined) return refuse(`entry ${index + 1} of ${entries.length} ${problem}; set a ${accepts}`);
    }
    return ok(Object.freeze(entries));
  });
}

const HOST = /^[A-Za-z0-9_]([A-Za-z0-9._-]{0,252}[A-Za-z0-9_.])?$/;

function hostProblem(entry: string, kind: ListKind): string | undefined {
  if (entry === '') return 'is empty (a comma too many?)';
  if (kind === 'grpc' && /^unix:(\/\/)?\/./.test(entry)) return undefined;
  const target = kind === 'grpc' ? entry.replace(/^dns:\/\/[0-9a-fA-F.:[\]]*\/(?=[^/])/, '') : entry;
  if (target.includes('://')) return 'has a scheme (http:// and the like): leave it out';
  if (target.includes('@')) return 'has an "@": credentials have their own settings';
  const bracketed = /^\[([0-9a-fA-F:.%\w]+)\]:(\d{1,5})$/.exec(target);
  if (bracketed !== null) return portProblem(bracketed[2]);
  const parts = target.split(':');
  if (parts.length > 2) return 'has several colons: write an IPv6 address in brackets, [::1]:9092';
  if (!HOST.test(parts[0] ?? '')) return 'has no valid host name';
  return portProblem(parts[1]);
}

function portProblem(port: string | undefined): string | undefined {
  if (port === undefined || port === '') return 'has no port';
  return /^\d{1,5}$/.test(port) && Number(port) >= 1 && Number(port) <= 65_535
    ? undefined
    : 'has a port outside 1–65535';
}
