/**
 * A PostgreSQL URL taken apart: the one judge of what is one, for the settings and for whoever connects. Pure.
 *
 * Stricter than libpq on purpose: what is not in the URL would come from PG* variables or the user's name, and a worker
 * would then talk to another database than its settings say. No message repeats any part of the URL.
 */
import { ok, type Parsed, refuse, shapeOf } from './setting.ts';
import { decoded } from './url-part.ts';

/**
 * How sure the worker is of the server: `disable` without TLS; `require` with TLS, whoever answers; `verify-ca` a
 * certificate of a known authority; `verify-full` one for this very host.
 */
export const sslModes = ['disable', 'require', 'verify-ca', 'verify-full'] as const;
export type SslMode = (typeof sslModes)[number];

export type PostgresAddress = {
  readonly host: string;
  readonly port: number;
  readonly user: string;
  readonly password: string | undefined;
  readonly database: string;
  readonly sslMode: SslMode;
};

// No example with a password: the redactor of messages would cut it out.
const REMEDY =
  'set a postgres:// URL with user (and password) before the host, their special characters percent-encoded (@ is %40, ' +
  ': is %3A, / is %2F, # is %23, ? is %3F, % is %25), then host, port and database, and at most ?sslmode=verify-full ' +
  `(${sslModes.join(', ')})`;

export function judgePostgresUrl(raw: string): Parsed<PostgresAddress> {
  const text = raw.trim();
  // The URL parser would drop tabs and line breaks.
  const url = !/\s/.test(text) && URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined || !/^postgres(ql)?:$/.test(url.protocol) || url.hostname === '') {
    return refuse(`got ${shapeOf(text)} that are no PostgreSQL URL; ${REMEDY}`);
  }
  const [user, password, database] = [url.username, url.password, url.pathname.replace(/^\//, '')].map(decoded);
  if (user === null || password === null || database === null) {
    return refuse(`got a URL of ${shapeOf(text)} with a stray %; ${REMEDY}`);
  }
  if (user === undefined) return refuse(`got a URL of ${shapeOf(text)} without a user; ${REMEDY}`);
  const sslMode = sslModes.find((mode) => mode === (url.searchParams.get('sslmode') ?? 'disable'));
  const others = [...url.searchParams.keys()].some((name) => name !== 'sslmode');
  if (url.hash !== '' || others || sslMode === undefined || database?.includes('/')) {
    return refuse(`got a URL of ${shapeOf(text)} with more than host, port, database and a known sslmode; ${REMEDY}`);
  }
  return ok({
    // IPv6 addresses stand in brackets in a URL only.
    host: decodeURIComponent(url.hostname).replace(/^\[(.*)\]$/, '$1'),
    port: url.port === '' ? 5432 : Number(url.port),
    user: user as string,
    password,
    database: database ?? (user as string),
    sslMode,
  });
}
