/**
 * Endpoints of a pool as configured: one target, or several separated by commas.
 *
 * Forms: `host:port`, `10.0.0.1:8001`, `[::1]:8001`, `dns:///name:port` (every address of the name), `unix:/path`.
 * A URL with http:// is refused with the right form, and so is an IPv6 address without brackets: gRPC would take its last
 * group for the port.
 */
import { ServingError } from '../errors.ts';

export type Endpoint = {
  /** As configured. */
  readonly name: string;
  /** As grpc-js takes it. */
  readonly target: string;
  /** May stand for several servers: calls are spread over the addresses of the name. */
  readonly balanced: boolean;
};

const HOST = /^[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?\.?$/;
const IPV6 = /^\[[0-9A-Fa-f:.]+(%[A-Za-z0-9_.-]+)?\]$/;

/** Throws CONFIG_INVALID that names `setting` and says what to write instead. */
export function parseTarget(list: string, setting: string): readonly Endpoint[] {
  const names = list.split(',').map((name) => name.trim());
  if (names.some((name) => name === '')) {
    throw refused(setting, list.trim() === '' ? 'is empty' : 'has an empty entry between commas', 'write host:port');
  }
  const twice = names.find((name, index) => names.indexOf(name) !== index);
  if (twice !== undefined) throw refused(setting, `names ${twice} twice`, 'write each endpoint once');
  return names.map((name) => parseEndpoint(name, setting));
}

function parseEndpoint(name: string, setting: string): Endpoint {
  if (name.startsWith('unix:')) {
    if (!/^unix:(\/\/)?\/[^/]/.test(name)) throw refused(setting, `has ${name}`, 'write unix:/path/of/socket');
    return { name, target: name, balanced: false };
  }
  const url = /^([A-Za-z][A-Za-z0-9+.-]*):\/\//.exec(name);
  if (url !== null && url[1] !== 'dns') {
    throw refused(setting, `has the scheme ${url[1]}://`, 'write host:port, TLS is a setting of its own');
  }
  if (url !== null && !name.startsWith('dns:///')) {
    throw refused(setting, `has ${name}`, 'write dns:/// with three slashes, then host:port');
  }
  const balanced = url !== null;
  const address = balanced ? name.slice('dns:///'.length) : name;
  checkAddress(address, setting);
  return { name, target: `dns:///${address}`, balanced };
}

function checkAddress(address: string, setting: string): void {
  const colon = address.lastIndexOf(':');
  const host = colon === -1 ? address : address.slice(0, colon);
  if (!host.startsWith('[') && host.includes(':')) {
    throw refused(setting, `has an IPv6 address without brackets (${address})`, 'write [address]:port');
  }
  if (colon === -1 || address.endsWith(']')) throw refused(setting, `has no port (${address})`, 'write host:port');
  const port = address.slice(colon + 1);
  if (!/^\d{1,5}$/.test(port) || Number(port) < 1 || Number(port) > 65_535) {
    throw refused(setting, `has the port ${JSON.stringify(port)}`, 'write a port from 1 to 65535 and nothing after it');
  }
  if (!HOST.test(host) && !IPV6.test(host)) {
    throw refused(setting, `has the host ${JSON.stringify(host)}`, 'write a host name, an IPv4 address or [IPv6]');
  }
}

function refused(setting: string, fault: string, remedy: string): ServingError {
  return new ServingError('CONFIG_INVALID', `${setting} ${fault}: ${remedy}`, { details: { setting } });
}
