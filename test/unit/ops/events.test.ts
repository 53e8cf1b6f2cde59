/** /events as its readers see it: what comes and when, who is let in, and how it ends. */
import { createServer, get, type IncomingMessage, type Server } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { EventText } from '../../../page/event-text.ts';
import { EventStreams, MOST_STREAMS } from '../../../src/ops/event-streams.ts';
import { type StatusSnapshot, statusSchema } from '../../../src/ops/status-schema.ts';
import { closeServers, fetchRaw, sampleStatus, start } from './ops-fixture.ts';

const sockets: Socket[] = [];
const servers: Server[] = [];
afterEach(async () => {
  for (const socket of sockets.splice(0)) socket.destroy();
  await closeServers();
  for (const server of servers.splice(0)) {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  }
});

/** Polls until the answer is true. */
async function eventually(what: string, probe: () => boolean | Promise<boolean>): Promise<void> {
  await vi.waitFor(async () => expect(await probe(), what).toBe(true), { timeout: 15_000 });
}

type Reader = {
  readonly response: IncomingMessage;
  readonly events: StatusSnapshot[];
  text: string;
  /** True when the server ended it in order, false when it was cut off. */
  readonly ended: Promise<boolean>;
};

function readEvents(port: number, headers: Readonly<Record<string, string>> = {}): Promise<Reader> {
  return new Promise((resolve, reject) => {
    const request = get({ host: '127.0.0.1', port, path: '/events', headers, agent: false }, (response) => {
      const text = new EventText();
      const ended = new Promise<boolean>((done) => response.on('close', () => done(response.complete)));
      const reader: Reader = { response, events: [], text: '', ended };
      response.setEncoding('utf8').on('error', () => {});
      response.on('data', (piece: string) => {
        reader.text += piece;
        reader.events.push(...text.push(piece).map((data) => statusSchema.parse(JSON.parse(data))));
        resolve(reader);
      });
    });
    request.on('socket', (socket) => sockets.push(socket));
    request.on('error', reject);
  });
}

/** Streams that look more often, on a server of their own. */
async function quickStreams(take: () => StatusSnapshot, onFault?: (error: unknown) => void) {
  const streams = new EventStreams({ take, onFault, everyMs: 40 });
  const server = createServer((_request, response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream', connection: 'close' });
    streams.add(response, take());
  });
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return { streams, port: (server.address() as AddressInfo).port };
}

const named = (worker: string): StatusSnapshot => ({ ...sampleStatus(), worker });

describe('what is told', () => {
  it('the snapshot at once, then each time it has changed, in order; signs of life in between', async () => {
    let count = 0;
    const { port } = await quickStreams(() => ({ ...named(`w-${count}`), uptimeSeconds: performance.now() }));
    const reader = await readEvents(port);
    for (const next of [1, 2, 3]) {
      const before = reader.text.length;
      await eventually('a sign of life', () => reader.text.slice(before).includes(': still the same\n\n'));
      count = next;
      await eventually('the change', () => reader.events.at(-1)?.worker === `w-${next}`);
    }
    expect(reader.events.map(({ worker }) => worker)).toEqual(['w-0', 'w-1', 'w-2', 'w-3']);
  });

  it('a reader that came between two changes misses none', async () => {
    let worker = 'a';
    const { port } = await quickStreams(() => named(worker));
    const first = await readEvents(port);
    worker = 'b';
    const second = await readEvents(port);
    worker = 'a';
    await eventually('both see the last', () => [first, second].every(({ events }) => events.at(-1)?.worker === 'a'));
  });

  it('secrets are taken out as in /status', async () => {
    const { port } = await start({ redact: (text) => text.replaceAll('away', '[redacted]') });
    const { events } = await readEvents(port);
    expect(events[0]?.checks[0]?.reason).toBe('[redacted]');
  });
});

describe('who is let in', () => {
  it('with a key set, only who shows it in a header', async () => {
    const { port } = await start({ apiKey: 's3cret' });
    for (const [path, headers] of [
      ['/events', []],
      ['/events?key=s3cret&api_key=s3cret', []],
      ['/events', ['authorization', 'Bearer wrong']],
    ] as const) {
      const { status, body } = await fetchRaw(port, path, headers);
      expect({ status, code: JSON.parse(body).error.code }).toEqual({ status: 401, code: 'unauthorized' });
    }
    const reader = await readEvents(port, { authorization: 'Bearer s3cret' });
    expect(reader.response.headers).toMatchObject({
      'content-type': 'text/event-stream; charset=utf-8',
      'cache-control': 'no-store',
      'content-security-policy': expect.stringMatching(/^default-src 'none'/),
      'x-content-type-options': 'nosniff',
    });
  });

  it(`${MOST_STREAMS} at a time; who leaves makes room`, async () => {
    const { port } = await start();
    const readers = await Promise.all(Array.from({ length: MOST_STREAMS }, () => readEvents(port)));
    const { status, headers, body } = await fetchRaw(port, '/events');
    expect({ status, code: JSON.parse(body).error.code }).toEqual({ status: 503, code: 'busy' });
    expect(headers['content-type']).toContain('application/json');
    readers[0]?.response.destroy();
    await eventually('there is room', async () => (await readEvents(port)).events.length > 0);
  });

  it('HEAD has the headers and no stream', async () => {
    const { port } = await start();
    const { status, headers, body } = await fetchRaw(port, '/events', [], 'HEAD');
    expect({ status, body, type: headers['content-type'] }).toEqual({
      status: 200,
      body: '',
      type: 'text/event-stream; charset=utf-8',
    });
  });
});

describe('how it ends', () => {
  it('fifty readers are told the last snapshot and ended in order; one that does not read holds nothing up', async () => {
    let phase: StatusSnapshot['phase'] = 'draining';
    const server = await start({ status: () => ({ ...named('x'.repeat(4_000_000)), phase }) });
    const deaf = connect(server.port, '127.0.0.1', () => deaf.write('GET /events HTTP/1.1\r\nhost: a\r\n\r\n'));
    sockets.push(deaf.pause());
    const other = await start({ status: () => ({ ...sampleStatus(), phase }) });
    const readers = await Promise.all(Array.from({ length: 50 }, () => readEvents(other.port)));
    await readEvents(server.port);
    phase = 'stopped';
    const began = performance.now();
    await Promise.all([server.close(), other.close()]);
    expect(performance.now() - began).toBeLessThan(1_000);
    expect(await Promise.all(readers.map(({ ended }) => ended))).toEqual(readers.map(() => true));
    expect(new Set(readers.map(({ events }) => events.at(-1)?.phase))).toEqual(new Set(['stopped']));
  });

  it('a reader that does not keep up is dropped, without anything piling up for it; the others go on', async () => {
    let count = 0;
    const filler = 'x'.repeat(500_000);
    const { streams, port } = await quickStreams(() => named(`${count++} ${filler}`));
    const deaf = connect(port, '127.0.0.1', () => deaf.write('GET /events HTTP/1.1\r\nhost: a\r\n\r\n'));
    deaf.on('error', () => {});
    sockets.push(deaf);
    await eventually('it is fed', () => streams.count === 1);
    deaf.pause();
    const reader = await readEvents(port);
    await eventually('it is dropped', () => streams.count === 1);
    const seen = reader.events.length;
    await eventually('the other goes on', () => reader.events.length > seen + 2);
  });

  it('when no snapshot can be made, streams end, the log is told, and who comes again gets the error', async () => {
    const faults: unknown[] = [];
    let broken = false;
    const take = () => {
      if (broken) throw new Error('pw-SENTINEL');
      return sampleStatus();
    };
    const { port, streams } = await quickStreams(take, (error) => void faults.push(error));
    const reader = await readEvents(port);
    broken = true;
    expect(await reader.ended).toBe(true);
    expect(reader.text).not.toContain('SENTINEL');
    expect(faults).toHaveLength(1);
    expect(streams.count).toBe(0);
    const server = await start({ status: take });
    const { status, body } = await fetchRaw(server.port, '/events');
    expect({ status, code: JSON.parse(body).error.code }).toEqual({ status: 500, code: 'internal' });
  });
});
