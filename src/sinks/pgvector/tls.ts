/** What sslmode means to Node's TLS: libpq's meanings, with nothing verified unless asked for. */
import type { ConnectionOptions } from 'node:tls';
import type { SslMode } from '../../config/postgres-url.ts';
import type { ResolvedPgVectorOptions } from './options.ts';

export function tlsOptions(
  mode: Exclude<SslMode, 'disable'>,
  { address, tlsCa, tlsCert, tlsKey }: Pick<ResolvedPgVectorOptions, 'address' | 'tlsCa' | 'tlsCert' | 'tlsKey'>,
): ConnectionOptions {
  return {
    host: address.host,
    rejectUnauthorized: mode !== 'require',
    ...(tlsCa !== undefined && { ca: tlsCa }),
    ...(tlsCert !== undefined && { cert: tlsCert }),
    ...(tlsKey !== undefined && { key: tlsKey }),
    // The chain is verified all the same; only the name is not looked at.
    ...(mode === 'verify-ca' && { checkServerIdentity: () => undefined }),
  };
}
