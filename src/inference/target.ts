/**
 * Endpoints of a pool as configured: one target, or several separated by commas.
 *
 * Forms: `host:port`, `10.0.0.1:8001`, `[::1]:8001`, `unix:/path`; `dns:///name:port` is every address of the name, and
 * `dns://10.0.0.10/name:port` or `dns://10.0.0.10:5353/name:port` the same as that name server has it.
 * A URL with http:// is refused with the right form, and so is an IPv6 address without brackets: gRPC would take its last
 * group for the port.
 */
import { isIP } from 'node:net';
import { ServingError } from '../errors.ts';

export type Endpoint = {
  /** As configured. */
  readonly name: string;
  /** As grpc-js takes it. */
  readonly target: string;
  /** May stand for several servers: calls are spread over the addresses of the name. Undefined: it is one. */
  readonly balanced: BalancedName | undefined;
};

export type BalancedName = {
  readonly host: string;
  readonly port: number;
  /** Undefined: the machine's own resolver. */
  readonly nameServer: string | undefined;
};

/** One server of a pool. */
export type ServerAddress = {
  /** For messages and metrics. */
  readonly name: string;
  /** As grpc-js takes it. */
  readonly target: string;
  /** Host and port by which it is known, where the target is no more than one of its addresses. */
  readonly knownAs?: { readonly host: string; readonly port: number };
};

const HOST = /^[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?\.?$/;
const IPV6 = /^\[[0-9A-Fa-f:.]+(%[A-Za-z0-9_.-]+)?\]$/;
const NAME_SERVER = /^(\[[0-9A-Fa-f:.]+\]|[0-9.]+)(:\d{1,5})?$/;

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

/** One of the addresses of a balanced name. */
export function serverAt(address: string, { host, port }: BalancedName): ServerAddress {
  const v6 = isIP(address) === 6;
  const name = `${v6 ? `[${address}]` : address}:${port}`;
  return { name, target: `${v6 ? 'ipv6' : 'ipv4'}:${name}`, knownAs: { host, port } };
}

function parseEndpoint(name: string, setting: string): Endpoint {
  if (name.startsWith('unix:')) {
    if (!/^unix:(\/\/)?\/[^/]/.test(name)) throw refused(setting, `has ${name}`, 'write unix:/path/of/socket');
    return { name, target: name, balanced: undefined };
  }
  const url = /^([A-Za-z][A-Za-z0-9+.-]*):\/\//.exec(name);
  if (url !== null && url[1] !== 'dns') {
    throw refused(setting, `has the scheme ${url[1]}://`, 'write host:port, TLS is a setting of its own');
  }
  if (url !== null) return parseBalanced(name, setting);
  checkAddress(name, setting);
  return { name, target: `dns:///${name}`, balanced: undefined };
}

function parseBalanced(name: string, setting: string): Endpoint {
  const rest = name.slice('dns://'.length);
  const slash = rest.indexOf('/');
  if (slash === -1) throw refused(setting, `has ${name}`, 'write dns:/// with three slashes, then host:port');
  const [nameServer, address] = [rest.slice(0, slash), rest.slice(slash + 1)];
  if (nameServer !== '' && !isNameServer(nameServer)) {
    const remedy = 'write the IP address of a name server, or dns:/// for that of the machine';
    throw refused(setting, `has the name server ${JSON.stringify(nameServer)}`, remedy);
  }
  checkAddress(address, setting);
  const colon = address.lastIndexOf(':');
  const balanced = {
    host: address.slice(0, colon).replace(/^\[|\]$/g, ''),
    port: Number(address.slice(colon + 1)),
    nameServer: nameServer === '' ? undefined : nameServer,
  };
  return { name, target: `dns:///${address}`, balanced };
}

function isNameServer(text: string): boolean {
  const parts = NAME_SERVER.exec(text);
  return parts !== null && isIP(parts[1]!.replace(/^\[|\]$/g, '')) !== 0;
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
