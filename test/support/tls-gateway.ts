/**
 * What stands in front of a model server where TLS ends outside it: asks clients for a certificate and each call for an API
 * key, tells who came, and passes the call on in plain text.
 */
import { connect, createSecureServer, type Http2SecureServer, type ServerHttp2Session } from 'node:http2';
import type { AddressInfo } from 'node:net';
import type { TLSSocket } from 'node:tls';
import type { Pair } from './certificates.ts';
import { relayCall } from './relay-call.ts';

export type TlsGateway = {
  readonly port: number;
  /** Common names of the certificates of the clients that connected, one for each connection. */
  readonly connected: readonly string[];
  /** Connections that are open now, by the same names. */
  readonly open: readonly string[];
  /** Calls that came without the key, and were refused. */
  readonly refused: number;
  close(): void;
};

const UNAUTHENTICATED = 16;

export type GatewayOptions = {
  /** host:port in plain text. */
  readonly target: string;
  readonly pair: Pair;
  readonly clientAuthority: string;
  /** Undefined: none is asked for. */
  readonly apiKey: string | undefined;
};

export async function startTlsGateway(options: GatewayOptions): Promise<TlsGateway> {
  const { pair, clientAuthority, apiKey, target } = options;
  const asked = { requestCert: true, rejectUnauthorized: true, ca: clientAuthority };
  const server: Http2SecureServer = createSecureServer({ ...pair, ...asked });
  const connected: string[] = [];
  const sessions = new Map<ServerHttp2Session, string>();
  let refused = 0;
  server.on('session', (session) => {
    const name = (session.socket as TLSSocket).getPeerCertificate().subject.CN as string;
    connected.push(name);
    sessions.set(session, name);
    const upstream = connect(`http://${target}`);
    upstream.on('error', () => session.destroy());
    session.on('error', () => {});
    session.on('close', () => {
      sessions.delete(session);
      upstream.destroy();
    });
    session.on('stream', (stream, headers) => {
      stream.on('error', () => {});
      if (apiKey !== undefined && headers['x-api-key'] !== apiKey) {
        refused++;
        const answer = { ':status': 200, 'content-type': 'application/grpc', 'grpc-status': UNAUTHENTICATED };
        return stream.respond(answer, { endStream: true });
      }
      relayCall(stream, headers, upstream);
    });
  });
  server.on('tlsClientError', () => {});
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    port: (server.address() as AddressInfo).port,
    connected,
    get open() {
      return [...sessions.values()];
    },
    get refused() {
      return refused;
    },
    close: () => {
      server.close();
      for (const session of sessions.keys()) session.destroy();
    },
  };
}
