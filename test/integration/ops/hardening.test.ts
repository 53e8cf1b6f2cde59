/** The ops server as a process of its own, under requests and connections that nobody with a question would send. */
import { readFileSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { killAllPrograms } from '../../../scripts/stack/program.ts';
import { eventually } from '../worker/harness.ts';
import { malformedRequest, seeded } from './malformed.ts';
import { type Sidecar, startSidecar } from './sidecar.ts';

const REQUESTS = 10_000;
/** Another seed, other requests. */
const SEED = Number(process.env.FUZZ_SEED ?? 7);
const KEY = 'k3y-SENTINEL';
/** Files of the machine, secrets, stack traces. */
const TOLD = /root:x:|SENTINEL|\/node_modules\/|\bat .{1,80}\.(js|ts):\d/;
const MIB = 1_048_576;
const sockets = new Set<Socket>();
let sidecar: Sidecar;

beforeEach(async () => {
  // Nothing is beside it: /ready is 503 all the time.
  const nowhere = 'http://127.0.0.1:9';
  sidecar = await startSidecar({
    RAG_SERVING_TRITON_HTTP_URL: nowhere,
    RAG_SERVING_TRITON_GRPC_URL: '127.0.0.1:9',
    RAG_SERVING_TRITON_METRICS_URL: nowhere,
    RAG_SERVING_API_KEY: KEY,
    // A heap that is not let grow for comfort: what is kept shows as growth, or ends the process.
    NODE_OPTIONS: '--max-semi-space-size=1 --max-old-space-size=64',
  });
  await eventually('it runs', async () => (await sidecar.ready()).body.phase === 'running');
});
afterEach(async () => {
  for (const socket of sockets) socket.destroy();
  sockets.clear();
  await killAllPrograms();
});

function open(): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = connect(sidecar.port, '127.0.0.1', () => resolve(socket));
    sockets.add(socket);
    socket.on('error', reject);
    socket.on('close', () => sockets.delete(socket));
  });
}

/** All that comes back for these bytes, until the other side closes. */
async function exchange(bytes: string): Promise<string> {
  const socket = await open();
  let answer = '';
  socket.on('data', (part) => (answer += part.toString('latin1')));
  socket.on('error', () => {});
  // Our end is closed: whatever is missing will not come.
  socket.end(Buffer.from(bytes, 'latin1'));
  await new Promise((resolve) => socket.once('close', resolve));
  return answer;
}

function rssBytes(): number {
  const [, kib] = /^VmRSS:\s+(\d+) kB/m.exec(readFileSync(`/proc/${sidecar.program.pid}/status`, 'utf8')) ?? [];
  return Number(kib) * 1_024;
}

async function seriesCount(): Promise<number> {
  const response = await fetch(`http://127.0.0.1:${sidecar.port}/metrics`, { headers: { 'x-api-key': KEY } });
  return (await response.text()).split('\n').filter((line) => line.startsWith('rag_serving_')).length;
}

describe('malformed requests', () => {
  it('10,000 of them: no 5xx but what is documented, no crash, nothing told, no more memory, no more series (M06)', async () => {
    const random = seeded(SEED);
    const statuses = new Map<string, number>();
    const rss: number[] = [];
    const series = await seriesCount();
    let sent = 0;
    const worker = async () => {
      while (sent < REQUESTS) {
        sent++;
        if (sent % 1_000 === 0) rss.push(rssBytes());
        const request = malformedRequest(random);
        const answer = await exchange(request);
        for (const [, status = ''] of answer.matchAll(/^HTTP\/1\.1 (\d{3}) /gm)) {
          statuses.set(status, (statuses.get(status) ?? 0) + 1);
          const isReady = /ready|READY/.test(request);
          if (status.startsWith('5') && !(status === '503' && isReady))
            throw new Error(`${status} for ${JSON.stringify(request.slice(0, 500))}`);
        }
        if (TOLD.test(answer)) {
          throw new Error(`told too much for ${JSON.stringify(request.slice(0, 500))}: ${answer.slice(0, 500)}`);
        }
      }
    };
    await Promise.all(Array.from({ length: 16 }, worker));
    expect((await sidecar.get('/healthz')).status).toBe(200);
    expect(sidecar.program.running).toBe(true);
    // All kinds of refusal were met, so the requests do reach what they are meant for.
    expect([...statuses.keys()]).toEqual(
      expect.arrayContaining(['200', '302', '400', '401', '404', '405', '413', '503']),
    );
    expect(sidecar.program.lines.filter(({ level }) => level === 'ERROR')).toEqual([]);
    expect(await seriesCount()).toBe(series);
    // What the first thousands take is caches.
    const growth = Math.max(...rss.slice(-3)) - Math.max(...rss.slice(1, 3));
    expect(growth, rss.map((bytes) => Math.round(bytes / MIB)).join(' ')).toBeLessThan(12 * MIB);
  });
});

describe('connections', () => {
  it('1,000 idle ones and 200 that drip are survived, and cut off while it answers others', async () => {
    const idle = await Promise.all(Array.from({ length: 1_000 }, open));
    const dripping = await Promise.all(Array.from({ length: 200 }, open));
    // Whoever does not read never sees the end.
    for (const socket of [...idle, ...dripping]) socket.on('error', () => {}).resume();
    let letters = 0;
    const drip = setInterval(() => {
      letters++;
      for (const socket of dripping)
        if (socket.writable) socket.write(letters === 1 ? 'GET /healthz HTTP/1.1\r\nx: ' : 'y');
    }, 500);
    try {
      expect((await sidecar.get('/healthz')).status).toBe(200);
      expect((await sidecar.get('/ready')).status).toBe(503);
      await eventually('all of them are cut off', () => sockets.size === 0, 60_000);
    } finally {
      clearInterval(drip);
    }
    expect((await sidecar.get('/healthz')).status).toBe(200);
  });

  it('open ones do not hold up the end', async () => {
    const all = await Promise.all(Array.from({ length: 300 }, open));
    for (const [index, socket] of all.entries()) {
      socket.on('error', () => {});
      // A third idle, a third kept alive after an answer, a third in the middle of a request.
      if (index % 3 === 1) socket.write('GET /healthz HTTP/1.1\r\nhost: a\r\n\r\n');
      if (index % 3 === 2) socket.write('GET /metrics HTTP/1.1\r\nhost: a\r\nx-api-key: ');
    }
    await sleep(200);
    expect(await sidecar.stop()).toEqual({ code: 0, signal: null });
  });

  it('more than it takes are turned away, and it goes on', async () => {
    const opened = await Promise.allSettled(Array.from({ length: 2_300 }, open));
    expect(opened.length).toBe(2_300);
    for (const socket of sockets) socket.on('error', () => {}).resume();
    await eventually('some are turned away', () => sockets.size <= 2_048);
    for (const socket of sockets) socket.destroy();
    await eventually('it answers', async () => (await sidecar.get('/healthz')).status === 200);
  });
});
