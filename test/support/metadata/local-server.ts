/** A local HTTP server in the place of a cloud's metadata server: what it was asked, and what it is told to answer. */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

export type Asked = {
  readonly method: string;
  readonly path: string;
  readonly query: URLSearchParams;
  readonly headers: IncomingMessage['headers'];
  readonly body: string;
};

export type Answer = { readonly status: number; readonly body?: string; readonly headers?: Record<string, string> };

/** What every answer is while set: an outage. `silent` accepts the question and never answers. */
export type Trouble = 'silent' | Answer | undefined;

export class LocalServer {
  readonly url: string;
  readonly asked: Asked[] = [];
  trouble: Trouble;
  readonly #close: () => Promise<void>;

  constructor(url: string, close: () => Promise<void>) {
    this.url = url;
    this.#close = close;
  }

  to(path: string): readonly Asked[] {
    return this.asked.filter((one) => one.path === path);
  }

  close(): Promise<void> {
    return this.#close();
  }
}

export async function startLocalServer(answer: (asked: Asked) => Answer | Promise<Answer>): Promise<LocalServer> {
  const respond = async (request: IncomingMessage, response: ServerResponse) => {
    const url = new URL(request.url ?? '/', 'http://metadata');
    let body = '';
    for await (const part of request) body += String(part);
    const { method = '', headers } = request;
    const asked = { method, path: url.pathname, query: url.searchParams, headers, body };
    local.asked.push(asked);
    if (local.trouble === 'silent') return;
    const { status, body: text = '', headers: more = {} } = local.trouble ?? (await answer(asked));
    response.writeHead(status, more).end(text);
  };
  const server = createServer((request, response) => void respond(request, response));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const local = new LocalServer(`http://127.0.0.1:${port}`, async () => {
    const closed = new Promise((resolve) => server.close(resolve));
    server.closeAllConnections();
    await closed;
  });
  return local;
}
