/** A model hub on this machine, and the second host to which it sends for large files. It misbehaves as it is told. */
import { createHash } from 'node:crypto';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

export const COMMIT = '0123456789abcdef0123456789abcdef01234567';

/** What a host does with a request for a file instead of answering it; undefined lets it answer. */
export type Fault = (request: IncomingMessage, response: ServerResponse, content: Buffer) => boolean;

export type FakeHub = {
  readonly endpoint: string;
  /** Requests as "host method url range authorization", hub or storage. */
  readonly log: string[];
  /** Taken one for each request for a large file. */
  readonly faults: Fault[];
  /** Answer to the description of the model, instead of the real one. */
  describe?: { readonly status: number; readonly headers?: Record<string, string> } | undefined;
  close(): Promise<void>;
};

/** Files over `largeBytes` come from the second host and have a SHA-256. */
export async function startHub(files: ReadonlyMap<string, Buffer>, largeBytes = 1000): Promise<FakeHub> {
  const log: string[] = [];
  const faults: Fault[] = [];
  const note = (host: string, { url, headers }: IncomingMessage) =>
    log.push([host, url, headers.range ?? '-', headers.authorization ?? '-'].join(' '));

  const storage = createServer((request, response) => {
    note('storage', request);
    const content = files.get(decodeURIComponent(request.url!.slice(1)))!;
    if (faults.shift()?.(request, response, content) === true) return;
    sendFile(request, response, content);
  });
  const storageAt = await listen(storage);

  const hub: FakeHub = {
    endpoint: '',
    log,
    faults,
    close: async () => void (await Promise.all([stop(front), stop(storage)])),
  };
  const front = createServer((request, response) => {
    note('hub', request);
    const { pathname } = new URL(request.url!, 'http://hub');
    if (pathname.startsWith('/api/')) {
      if (hub.describe !== undefined)
        return void response.writeHead(hub.describe.status, hub.describe.headers).end('{}');
      const siblings = [...files].map(([rfilename, content]) => sibling(rfilename, content, largeBytes));
      return void response.end(JSON.stringify({ id: 'owner/tiny', sha: COMMIT, siblings }));
    }
    const path = decodeURIComponent(pathname.split(`/resolve/${COMMIT}/`)[1] ?? '');
    const content = files.get(path);
    if (content === undefined) return void response.writeHead(404, { 'x-error-code': 'EntryNotFound' }).end();
    if (content.length > largeBytes) return void response.writeHead(302, { location: `${storageAt}/${path}` }).end();
    sendFile(request, response, content);
  });
  return Object.assign(hub, { endpoint: await listen(front) });
}

export function sendFile(request: IncomingMessage, response: ServerResponse, content: Buffer): void {
  const from = Number(/^bytes=(\d+)-$/.exec(request.headers.range ?? '')?.[1] ?? 0);
  response.writeHead(request.headers.range === undefined ? 200 : 206, { 'content-length': content.length - from });
  response.end(content.subarray(from));
}

function sibling(rfilename: string, content: Buffer, largeBytes: number) {
  const blobId = createHash('sha1').update(`blob ${content.length}\0`).update(content).digest('hex');
  const sha256 = createHash('sha256').update(content).digest('hex');
  const lfs = content.length > largeBytes ? { lfs: { sha256, size: content.length, pointerSize: 130 } } : {};
  return { rfilename, size: content.length, blobId, ...lfs };
}

async function listen(server: Server): Promise<string> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

async function stop(server: Server): Promise<void> {
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
}
