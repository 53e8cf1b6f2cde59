/**
 * The HTTP sides of a Triton, to answer what a real one without a GPU cannot: GPU memory, and answers that are no answers.
 * Its gRPC side is a real engine.
 */
import { createServer, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

export type Reply = { readonly status?: number; readonly body?: string } | 'silence';

export class FakeTriton {
  /** What /metrics answers. */
  metrics: Reply = { body: '' };
  /** What /v2/models/stats answers. */
  statistics: Reply = { status: 404 };
  /** What the server and each model answer when asked whether they are ready. */
  health: Reply = {};
  readonly #server: Server;

  private constructor(server: Server) {
    this.#server = server;
  }

  static async start(): Promise<FakeTriton> {
    const server = createServer((request, response) => {
      const path = request.url ?? '';
      if (path === '/metrics') answer(response, fake.metrics);
      else if (path === '/v2/models/stats') answer(response, fake.statistics);
      else answer(response, /^\/v2\/(health\/|models\/[^/]+\/ready$)/.test(path) ? fake.health : { status: 404 });
    });
    const fake = new FakeTriton(server);
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    return fake;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }
}

function answer(response: ServerResponse, reply: Reply): void {
  if (reply === 'silence') return;
  response.writeHead(reply.status ?? 200, { 'content-type': 'text/plain' });
  response.end(reply.body ?? '');
}
