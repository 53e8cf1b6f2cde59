/**
 * Where to listen. Both wildcard addresses mean every interface of every family: bound to one family only, probes of the
 * other fail in half of all clusters. A machine without IPv6 refuses `::`, then IPv4 alone is tried.
 */
import { ServingError } from '../errors.ts';

export type Listen = (address: { readonly host: string; readonly port: number }) => Promise<string>;

const NO_SUCH_FAMILY = new Set(['EAFNOSUPPORT', 'EADDRNOTAVAIL', 'EINVAL']);

export async function bind(host: string, port: number, listen: Listen): Promise<string> {
  const wildcard = host === '0.0.0.0' || host === '::';
  try {
    return await listen({ host: wildcard ? '::' : host, port });
  } catch (error) {
    if (!wildcard || !NO_SUCH_FAMILY.has(codeOf(error))) throw bindError(error, host, port);
  }
  try {
    return await listen({ host: '0.0.0.0', port });
  } catch (error) {
    throw bindError(error, host, port);
  }
}

const PORT_SETTING = 'RAG_SERVING_SERVER_PORT';
const HOST_SETTING = 'RAG_SERVING_SERVER_HOST';

function bindError(error: unknown, host: string, port: number): ServingError {
  const code = codeOf(error);
  return new ServingError('CONFIG_INVALID', `ops server cannot listen on ${host} port ${port}: ${explain(code)}`, {
    cause: error,
    details: { code },
  });
}

function explain(code: string): string {
  switch (code) {
    case 'EADDRINUSE':
      return `the port is taken; set another ${PORT_SETTING} (0 takes any free one) or stop what uses it`;
    case 'EACCES':
      return `no right to that port; set ${PORT_SETTING} above 1023`;
    case 'EADDRNOTAVAIL':
    case 'EAFNOSUPPORT':
      return `this machine has no such address; set ${HOST_SETTING} to 0.0.0.0 or to an address it has`;
    case 'ENOTFOUND':
    case 'EAI_AGAIN':
      return `the host name is unknown; set ${HOST_SETTING} to 0.0.0.0 or to an address this machine has`;
    default:
      return `${code}; see ${HOST_SETTING} and ${PORT_SETTING}`;
  }
}

function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : 'unknown error';
}
