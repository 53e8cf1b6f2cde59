/**
 * An HTTP/2 proxy in front of a gRPC server whose sessions can be wedged: they stay open and answer pings, as a proxy with a
 * dead upstream does, and no call on them is answered. Keepalive does not see it.
 */
import {
  type ClientHttp2Session,
  connect,
  createServer,
  type Http2Server,
  type IncomingHttpHeaders,
  type ServerHttp2Session,
  type ServerHttp2Stream,
} from 'node:http2';
import type { AddressInfo } from 'node:net';
import { relayCall } from './relay-call.ts';

export class CallProxy {
  readonly #server: Http2Server;
  readonly #upstreams = new Map<ServerHttp2Session, ClientHttp2Session>();
  /** Calls that a session may still have answered; without an entry, all of them. */
  readonly #left = new Map<ServerHttp2Session, number>();
  #leftOfNew: number | undefined;
  /** Told the headers of each call, and given what is sent in it to read along. */
  onCall: (headers: IncomingHttpHeaders, sent: ServerHttp2Stream) => void = () => {};

  private constructor(target: string) {
    this.#server = createServer();
    this.#server.on('session', (session: ServerHttp2Session) => {
      const upstream = connect(`http://${target}`);
      upstream.on('error', () => session.destroy());
      session.on('error', () => {});
      session.on('close', () => {
        upstream.destroy();
        this.#upstreams.delete(session);
      });
      this.#upstreams.set(session, upstream);
      if (this.#leftOfNew !== undefined) this.#left.set(session, this.#leftOfNew);
    });
    this.#server.on('stream', (stream, headers) => this.#onStream(stream, headers));
  }

  static async start(target: string): Promise<CallProxy> {
    const proxy = new CallProxy(target);
    await new Promise<void>((resolve) => proxy.#server.listen(0, '127.0.0.1', resolve));
    return proxy;
  }

  get address(): string {
    return `127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** No call on a session of this moment is answered any more; later sessions have so many answered, or all. */
  wedge(callsOfLaterSessions?: number): void {
    for (const session of this.#upstreams.keys()) this.#left.set(session, 0);
    this.#leftOfNew = callsOfLaterSessions;
  }

  close(): void {
    this.#server.close();
    for (const session of this.#upstreams.keys()) session.destroy();
  }

  #onStream(stream: ServerHttp2Stream, headers: IncomingHttpHeaders): void {
    this.onCall(headers, stream);
    stream.on('error', () => {});
    const session = stream.session as ServerHttp2Session | undefined;
    const upstream = session === undefined ? undefined : this.#upstreams.get(session);
    if (session === undefined || upstream === undefined) return;
    const left = this.#left.get(session);
    if (left !== undefined) {
      if (left === 0) return;
      this.#left.set(session, left - 1);
    }
    relayCall(stream, headers, upstream);
  }
}
