/** Downloads from a hub: what is asked of it, and what is done about each way in which it fails. */
import { mkdir, mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { HubOptions } from '../../../../scripts/export-onnx/hub/connection.ts';
import { fetchModel } from '../../../../scripts/export-onnx/hub/fetch-model.ts';
import { delayMs, refusal } from '../../../../scripts/export-onnx/hub/retry.ts';
import { encodeModel } from '../../../../scripts/onnx/model-file.ts';
import { COMMIT, type FakeHub, type Fault, sendFile, startHub } from './hub-server.ts';
import { tinyEncoder } from './tiny-encoder.ts';

const GRAPH = Buffer.from(encodeModel(tinyEncoder()));
const FILES = new Map([
  ['config.json', Buffer.from('{}')],
  ['tokenizer.json', Buffer.from('{"model":{}}')],
  ['onnx/model.onnx', GRAPH],
  ['README.md', Buffer.from('not needed')],
]);
const RETRY = { attempts: 3, firstDelayMs: 1, maxDelayMs: 5, stallMs: 5_000 };

let cacheDir: string;
let server: FakeHub;
beforeEach(async () => {
  cacheDir = await mkdtemp(join(tmpdir(), 'rag-hub-'));
  server = await startHub(FILES);
});
afterEach(async () => {
  await server.close();
  await rm(cacheDir, { recursive: true, force: true });
});

function fetchTiny(options: Partial<HubOptions> = {}, id = 'owner/tiny', signal = new AbortController().signal) {
  const request = { id, revision: 'main', type: 'embedding', cacheDir } as const;
  return fetchModel({ endpoint: server.endpoint, retry: RETRY, ...options }, request, () => {}, signal);
}

const folder = () => join(cacheDir, 'hub', 'owner--tiny', COMMIT);
const graphRequests = () => server.log.filter((line) => line.startsWith('storage'));
const fails =
  (status: number, headers = {}): Fault =>
  (_request, response) => {
    response.writeHead(status, headers).end();
    return true;
  };
/** Sends the first bytes and breaks the connection once they are on the disk. */
const breaksAfter =
  (bytes: number): Fault =>
  (_request, response, content) => {
    response.writeHead(200, { 'content-length': content.length });
    response.write(content.subarray(0, bytes));
    const arrived = async () =>
      (await stat(join(folder(), 'onnx/model.onnx.part')).catch(() => undefined))?.size === bytes;
    void vi.waitUntil(arrived, { timeout: 5_000, interval: 5 }).finally(() => response.destroy());
    return true;
  };

describe('fetching a model', () => {
  it('takes what an export needs, by commit, and sends the token to the hub only', async () => {
    const fetched = await fetchTiny({ token: 'hf_secret' });
    expect(fetched).toEqual({ folder: folder(), graph: 'onnx/model.onnx', commit: COMMIT });
    expect(await readFile(join(folder(), 'onnx/model.onnx'))).toEqual(GRAPH);
    expect((await readdir(folder())).sort()).toEqual(['.lock', 'config.json', 'onnx', 'tokenizer.json']);
    const files = server.log.filter((line) => !line.includes('/api/'));
    expect(files.every((line) => line.startsWith('storage') || line.includes(`/resolve/${COMMIT}/`))).toBe(true);
    expect(server.log.map((line) => line.split(' ')).map(([host, , , ...token]) => [host, token.join(' ')])).toEqual([
      ...[
        ['hub', 'Bearer hf_secret'],
        ['hub', 'Bearer hf_secret'],
        ['hub', 'Bearer hf_secret'],
      ],
      ...[
        ['hub', 'Bearer hf_secret'],
        ['storage', '-'],
      ],
    ]);
  });

  it('a second time only asks which commit it is', async () => {
    await fetchTiny();
    server.log.length = 0;
    await fetchTiny();
    expect(server.log).toEqual([expect.stringContaining('/api/models/owner/tiny/revision/main')]);
  });

  it('goes on where a broken connection stopped', async () => {
    server.faults.push(breaksAfter(1500));
    await fetchTiny();
    const [, second] = graphRequests();
    expect(second).toContain(' bytes=1500- ');
    expect(await readFile(join(folder(), 'onnx/model.onnx'))).toEqual(GRAPH);
  });

  it('goes on where an earlier run stopped', async () => {
    await mkdir(join(folder(), 'onnx'), { recursive: true });
    await writeFile(join(folder(), 'onnx/model.onnx.part'), GRAPH.subarray(0, 700));
    await fetchTiny();
    expect(graphRequests()).toEqual([expect.stringContaining(' bytes=700- ')]);
    expect(await readdir(join(folder(), 'onnx'))).toEqual(['model.onnx']);
  });

  it('begins anew where the server knows no ranges', async () => {
    server.faults.push(breaksAfter(1500), (request, response, content) => {
      delete request.headers.range;
      sendFile(request, response, content);
      return true;
    });
    await fetchTiny();
    expect(await readFile(join(folder(), 'onnx/model.onnx'))).toEqual(GRAPH);
  });

  it('a wrong part that an earlier run left is found out by its checksum, and fetched anew', async () => {
    await mkdir(join(folder(), 'onnx'), { recursive: true });
    await writeFile(join(folder(), 'onnx/model.onnx.part'), Buffer.alloc(700, 'x'));
    await fetchTiny();
    expect(graphRequests()).toHaveLength(2);
    expect(await readFile(join(folder(), 'onnx/model.onnx'))).toEqual(GRAPH);
  });

  it('a body that is twice not what the hub names is refused, and not left under its name', async () => {
    const altered: Fault = (_request, response, content) => {
      response.end(Buffer.alloc(content.length, 'x'));
      return true;
    };
    server.faults.push(altered, altered);
    await expect(fetchTiny()).rejects.toThrow(/onnx\/model.onnx: .*does not have the checksum/);
    expect(await readdir(join(folder(), 'onnx'))).toEqual([]);
  });

  for (const status of [408, 429, 500, 502, 503, 504]) {
    it(`tries again after ${status}`, async () => {
      server.faults.push(fails(status, { 'retry-after': '0.001' }));
      await fetchTiny();
      expect(graphRequests()).toHaveLength(2);
    });
  }

  it('gives up after as many failures in a row as it is told, and says what it keeps', async () => {
    server.faults.push(...Array.from({ length: 9 }, () => fails(503)));
    await expect(fetchTiny()).rejects.toThrow(/answered 503 3 times in a row; what has arrived is kept/);
    expect(graphRequests()).toHaveLength(3);
  });

  it('a server that breaks at the same byte each time is given up', async () => {
    const stuck: Fault = (request, response, content) => {
      delete request.headers.range;
      return breaksAfter(1500)(request, response, content);
    };
    server.faults.push(...Array.from({ length: 20 }, () => stuck));
    await expect(fetchTiny()).rejects.toThrow(/the connection failed 3 times in a row/);
  });

  it('a connection that falls silent is replaced', async () => {
    server.faults.push((_request, response, content) => {
      response.writeHead(200, { 'content-length': content.length });
      response.write(content.subarray(0, 10));
      return true;
    });
    await fetchTiny({ retry: { ...RETRY, stallMs: 200 } });
    expect(graphRequests()).toHaveLength(2);
  });

  it('stops when it is told to', async () => {
    const stop = new AbortController();
    server.faults.push(() => {
      stop.abort(new Error('enough'));
      return true;
    });
    await expect(fetchTiny({}, 'owner/tiny', stop.signal)).rejects.toThrow('enough');
  });

  const refusals = [
    { status: 401, token: undefined, says: /wants a token \(401\): set HF_TOKEN/ },
    { status: 401, token: 'hf_x', says: /does not know the token in HF_TOKEN/ },
    { status: 403, token: 'hf_x', says: /accept the model's terms/ },
    { status: 404, token: undefined, says: /nothing under this name \(404\): check --model/ },
  ];
  for (const { status, token, says } of refusals) {
    it(`${status} ${token ? 'with' : 'without'} a token is final, and said with its remedy`, async () => {
      server.describe = { status };
      await expect(fetchTiny({ token })).rejects.toThrow(says);
      expect(server.log).toHaveLength(1);
    });
  }

  it('an unknown revision is told apart from an unknown model', async () => {
    server.describe = { status: 404, headers: { 'x-error-code': 'RevisionNotFound' } };
    await expect(fetchTiny()).rejects.toThrow(/no such revision.*--revision/);
  });

  it('an endpoint that is no hub is named', async () => {
    server.describe = { status: 200 };
    await expect(fetchTiny()).rejects.toThrow(/does not answer like a hub: check HF_ENDPOINT/);
  });

  for (const id of ['../../etc', 'a/b/c', 'owner/..', 'owner/na me']) {
    it(`asks no hub for "${id}"`, async () => {
      await expect(fetchTiny({}, id)).rejects.toThrow(/neither a folder nor a model id/);
      expect(server.log).toEqual([]);
    });
  }
});

describe('retries', () => {
  const policy = { attempts: 5, firstDelayMs: 1000, maxDelayMs: 60_000, stallMs: 1 };
  it('doubles up to a limit, with half of it left to chance', () => {
    expect([1, 2, 3, 9].map((failures) => delayMs(policy, failures, undefined, 1))).toEqual([1000, 2000, 4000, 60_000]);
    expect(delayMs(policy, 1, undefined, 0)).toBe(500);
  });

  it('waits as long as the hub asks, within the limit', () => {
    expect(delayMs(policy, 1, { status: 429, retryAfter: '7' }, 0)).toBe(7000);
    expect(delayMs(policy, 1, { status: 429, retryAfter: '9999' }, 0)).toBe(60_000);
    expect(delayMs(policy, 1, { status: 429, retryAfter: 'Wed, 21 Oct 2026 07:28:00 GMT' }, 1)).toBe(1000);
  });

  it('no message holds the token', () => {
    expect(refusal({ status: 401 }, 'owner/tiny', true)?.message).not.toContain('hf_');
  });
});
