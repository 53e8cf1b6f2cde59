/**
 * A relay in front of a real S3 server that spoils some of its answers: what a real server does only in bad weather. The Host
 * header stays as the client wrote it, so signatures hold.
 */
import { createServer, type IncomingMessage, request, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

export type Spoil =
  | { readonly kind: 'error'; readonly status: number; readonly code: string }
  /** The connection is reset after so many bytes of the body. */
  | { readonly kind: 'cut'; readonly afterBytes: number }
  /** The answer stops after so many bytes and stays open. */
  | { readonly kind: 'stall'; readonly afterBytes: number }
  | { readonly kind: 'alter' }
  | { readonly kind: 'page' };

export class S3Relay {
  /** Asked of each request; undefined lets it pass. */
  spoil: (request: IncomingMessage) => Spoil | undefined = () => undefined;
  readonly seen: string[] = [];
  readonly #server: Server;

  private constructor(targetPort: number) {
    this.#server = createServer((incoming, answer) => {
      this.seen.push(`${incoming.method} ${incoming.url}`);
      const spoil = this.spoil(incoming);
      if (spoil?.kind === 'error') {
        incoming.resume();
        answer.writeHead(spoil.status, { 'content-type': 'application/xml' });
        answer.end(
          `<?xml version="1.0"?><Error><Code>${spoil.code}</Code><Message>key-SENTINEL said no</Message></Error>`,
        );
      } else if (spoil?.kind === 'page') {
        incoming.resume();
        answer.writeHead(200, { 'content-type': 'text/html' });
        answer.end('<!doctype html><p>Welcome to the hotel network<br>');
      } else this.#forward(targetPort, incoming, answer, spoil);
    });
  }

  static async open(targetPort: number): Promise<S3Relay> {
    const relay = new S3Relay(targetPort);
    await new Promise<void>((resolve) => relay.#server.listen(0, '127.0.0.1', resolve));
    return relay;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  #forward(port: number, incoming: IncomingMessage, answer: ServerResponse, spoil: Spoil | undefined): void {
    const { method, url, headers } = incoming;
    const upstream = request({ host: '127.0.0.1', port, method, path: url, headers }, (reply) => {
      answer.writeHead(reply.statusCode ?? 502, reply.headers);
      let bytes = 0;
      reply.on('data', (piece: Buffer) => {
        const before = bytes;
        bytes += piece.length;
        if (spoil?.kind === 'alter' && before === 0) piece[0] = piece[0]! ^ 1;
        if (spoil?.kind !== 'cut' && spoil?.kind !== 'stall') return void answer.write(piece);
        if (before >= spoil.afterBytes) return;
        answer.write(piece.subarray(0, spoil.afterBytes - before), () => {
          if (spoil.kind === 'cut' && bytes >= spoil.afterBytes) answer.destroy();
        });
      });
      reply.on('end', () => {
        if (spoil?.kind !== 'stall') answer.end();
      });
    });
    upstream.on('error', () => answer.destroy());
    incoming.pipe(upstream);
  }
}
