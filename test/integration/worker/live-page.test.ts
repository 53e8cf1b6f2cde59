/** The live page in a real browser, fed by a real worker under load. */
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer, request as httpRequest, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { statusSchema } from '../../../src/ops/status-schema.ts';
import { openPage, overflowOf, useBrowser } from '../../support/browser.ts';
import { useKafka } from '../../support/stack.ts';
import { startSidecar } from '../ops/sidecar.ts';
import { chunkMessage, type Env, endPrograms, eventually, startEngine, startWorker, TestTopic } from './harness.ts';

const kafka = useKafka();
const browser = useBrowser();
const proxies: Server[] = [];
let folder: string;
let topic: TestTopic;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'rag-live-page-'));
  topic = new TestTopic(kafka().bootstrapServers);
});
afterEach(async () => {
  for (const page of browser().pages()) await page.close();
  for (const proxy of proxies.splice(0)) {
    proxy.closeAllConnections();
    await new Promise((resolve) => proxy.close(resolve));
  }
  await endPrograms();
  await topic.close();
  rmSync(folder, { recursive: true, force: true });
});

function send(count: number, from = 0): Promise<void> {
  return topic.send(
    Array.from({ length: count }, (_, i) => {
      const id = from + i;
      const text = id % 100 === 7 ? ' ' : `text number ${id}`;
      return chunkMessage({ chunkId: `doc-${id % 50}#${id}`, documentId: `doc-${id % 50}`, text });
    }),
  );
}

const away = { RAG_SERVING_BATCH_INGEST_GRPC_URL: '127.0.0.1:1' } as const;
const env = (more: Env): Env => ({
  ...topic.env(kafka().bootstrapServers),
  RAG_SERVING_LANCEDB_PATH: folder,
  ...more,
});

/** The exact value behind a number that is shown. */
async function shown(page: Page, fact: string): Promise<number> {
  return Number(await page.locator(`[data-fact="${fact}"] data`).getAttribute('value'));
}

/** Rows of the table of partitions: partition, lag, committed, end. */
async function partitionRows(page: Page): Promise<number[][]> {
  const rows = await page.locator('#partitions tbody tr').all();
  const values = rows.map(async (row) =>
    Promise.all((await row.locator('data').all()).map(async (cell) => Number(await cell.getAttribute('value')))),
  );
  return (await Promise.all(values)).sort(([one = 0], [other = 0]) => one - other);
}

/** Strips `/pool-a` from the path, as an ingress does. */
async function prefixProxy(port: number): Promise<string> {
  const proxy = createServer((incoming, outgoing) => {
    const path = incoming.url?.replace(/^\/pool-a/, '') || '/';
    const onward = httpRequest({ host: '127.0.0.1', port, path, headers: incoming.headers }, (answer) => {
      outgoing.writeHead(answer.statusCode ?? 502, answer.headers);
      answer.pipe(outgoing);
    });
    onward.on('error', () => outgoing.destroy());
    outgoing.on('close', () => onward.destroy());
    onward.end();
  });
  proxies.push(proxy);
  await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve));
  return `http://127.0.0.1:${(proxy.address() as AddressInfo).port}/pool-a`;
}

describe('the live page of a worker', () => {
  it('follows a load; afterwards page, /status and /metrics agree; it says when the worker is gone', async () => {
    await topic.create(2);
    await send(1_000);
    const engine = await startEngine();
    const worker = await startWorker(env({ RAG_SERVING_BATCH_INGEST_GRPC_URL: engine.target }));
    const { page, complaints, requests } = await openPage(browser());
    await page.goto(`http://127.0.0.1:${worker.port}/`);
    await page.locator('#verdict .badge.good', { hasText: 'Ready' }).waitFor();
    await send(2_000, 1_000);
    await topic.untilLagZero();
    await eventually('the page has the end of the load', async () => {
      const rows = await partitionRows(page);
      return (await shown(page, 'Stored')) === 2_970 && rows.length === 2 && rows.every(([, lag]) => lag === 0);
    });

    const { ingest } = statusSchema.parse(JSON.parse(await worker.page('status')));
    const metric = (name: string, ...labels: string[]) => worker.metric(`rag_serving_${name}`, ...labels);
    expect(ingest?.chunks.persisted).toBe(2_970);
    expect(await metric('chunks_total', 'outcome="persisted"')).toBe(2_970);
    const letters = await shown(page, 'Dead letters');
    expect([letters, ingest?.deadLetters.total, await metric('dead_letters_total')]).toEqual([30, 30, 30]);
    const flying = [await shown(page, 'In flight'), ingest?.inFlight.chunks, await metric('in_flight_chunks')];
    expect(flying).toEqual([0, 0, 0]);
    const rows = await partitionRows(page);
    expect(rows).toEqual(
      ingest?.partitions.map(({ partition, lag, committed, end }) => [partition, lag, Number(committed), Number(end)]),
    );
    for (const [partition, lag, committed] of rows) {
      expect(await metric('consumer_lag_messages', `partition="${partition}"`)).toBe(lag);
      expect(await metric('committed_offset', `partition="${partition}"`)).toBe(committed);
    }
    expect(await page.locator('#slots').textContent()).toBe('0 leased, 0 quarantined, 4 free');
    expect(await page.locator('#letters tbody tr').first().textContent()).toBe('CHUNK_BLANK30');
    for (const chart of ['#chart-rate', '#chart-lag']) {
      expect(await page.locator(`${chart} path.line`).getAttribute('d')).toMatch(/^M.+L/);
      expect(await page.locator(`${chart} desc`).textContent()).toMatch(
        /over the last 15 minutes: .+ now, least .+, most/,
      );
    }

    await page.locator('#chart-lag svg').hover();
    expect(await page.locator('#chart-lag .reading').textContent()).toMatch(/^(\d\d:){2}\d\d: [\d,]+ messages$/);
    await page.locator('#chart-rate summary').click();
    await page.locator('#chart-rate tbody tr').nth(14).waitFor();

    // Everything came from this server, and over one stream: it outlives the time limit for answers.
    const root = `http://127.0.0.1:${worker.port}/`;
    expect(requests.filter((url) => !url.startsWith('data:'))).toEqual([root, `${root}events`]);
    expect(complaints).toEqual([]);

    await worker.stop();
    await page.locator('#news', { hasText: 'No connection' }).waitFor();
    expect(await page.locator('#phase').textContent()).toBe('stopped');
    await startWorker(
      env({ RAG_SERVING_BATCH_INGEST_GRPC_URL: engine.target, RAG_SERVING_SERVER_PORT: String(worker.port) }),
    );
    await page.locator('#verdict .badge.good').waitFor();
    expect(await page.locator('#news').isHidden()).toBe(true);
    expect(await shown(page, 'Stored')).toBe(0);
  });

  it('fits a phone, and is dark where that is asked for', async () => {
    await topic.create(2);
    const engine = await startEngine();
    const worker = await startWorker(env({ RAG_SERVING_BATCH_INGEST_GRPC_URL: engine.target }));
    const { page, complaints } = await openPage(browser());
    await page.setViewportSize({ width: 360, height: 740 });
    await page.goto(`http://127.0.0.1:${worker.port}/`);
    await page.locator('#partitions tbody tr').first().waitFor();
    expect(await overflowOf(page)).toBe(0);
    const ground = () => page.evaluate('getComputedStyle(document.body).backgroundColor');
    const light = await ground();
    await page.emulateMedia({ colorScheme: 'dark' });
    expect([light, await ground()]).toEqual(['rgb(243, 245, 248)', 'rgb(15, 20, 26)']);
    await page.emulateMedia({ reducedMotion: 'reduce' });
    expect(await page.evaluate('getComputedStyle(document.getElementById("board")).transitionDuration')).toBe('0s');
    expect(complaints).toEqual([]);
  });

  it('asks for the key, keeps it out of every address, and works behind a path prefix, as /docs does', async () => {
    await topic.create(1);
    const worker = await startWorker(env({ ...away, RAG_SERVING_API_KEY: 'k-SENTINEL-1' }));
    const address = await prefixProxy(worker.port);
    const { page, complaints, requests } = await openPage(browser());
    await page.goto(address);
    const field = page.getByLabel('This server asks for its API key');
    await field.waitFor();
    expect(requests.filter((url) => url.includes('events'))).toEqual([]);
    expect(await page.locator('#board').isVisible()).toBe(false);
    expect(complaints).toEqual([]);

    await field.fill('wrong');
    await field.press('Enter');
    await page.locator('#news', { hasText: 'not the right one' }).waitFor();
    // The browser itself reports every answer of 401.
    expect(complaints.splice(0)).toEqual([expect.stringContaining('401')]);

    await field.fill('k-SENTINEL-1');
    await field.press('Enter');
    await page.locator('#verdict .badge', { hasText: 'Not ready' }).waitFor();
    expect(await page.locator('#partitions').textContent()).toContain('Not a member of the consumer group');
    expect(await page.locator('#vram').textContent()).toContain('Not watched');
    await page.reload();
    await page.locator('#verdict .badge').waitFor();
    await page.getByRole('button', { name: 'Forget the key' }).click();
    await field.waitFor();
    await page.reload();
    await field.waitFor();
    expect(requests.filter((url) => url.includes('SENTINEL'))).toEqual([]);
    expect(requests.filter((url) => url.includes('events')).every((url) => url === `${address}/events`)).toBe(true);

    await page.getByRole('link', { name: 'API documents' }).click();
    await page.locator('.opblock-summary-path', { hasText: '/healthz' }).waitFor();
    expect(page.url()).toBe(`${address}/docs/`);
    expect(await page.locator('.opblock').count()).toBe(7);
    await page.locator('#operations-health-getLiveness .opblock-summary-control').click();
    await page.getByRole('button', { name: 'Execute' }).click();
    await page.locator('.live-responses-table .response', { hasText: 'alive' }).first().waitFor();
    expect(complaints).toEqual([]);
  });
});

describe('the live page of a sidecar', () => {
  it('has what a sidecar has, and words for what is not there', async () => {
    const sidecar = await startSidecar({
      RAG_SERVING_TRITON_HTTP_URL: 'http://127.0.0.1:1',
      RAG_SERVING_TRITON_GRPC_URL: '127.0.0.1:1',
      RAG_SERVING_TRITON_METRICS_URL: 'http://127.0.0.1:1/metrics',
    });
    const { page, complaints } = await openPage(browser());
    await page.goto(`http://127.0.0.1:${sidecar.port}/`);
    await page.locator('#checks .badge.bad').first().waitFor();
    expect(await page.locator('#checks tbody tr').count()).toBe(4);
    await page.locator('#vram .badge', { hasText: 'metrics do not answer' }).waitFor();
    const metrics = await (await sidecar.get('/metrics')).text();
    for (const check of ['triton', 'models', 'inference']) {
      expect(metrics).toMatch(new RegExp(`rag_serving_check_state\\{.*check="${check}",state="fail"\\} 1`));
    }
    expect(metrics).toMatch(/rag_serving_vram_state\{.*state="unreachable"\} 1/);
    expect(await page.locator('#model-server').textContent()).toContain('has no breaker');
    for (const part of ['#numbers', '#charts', '#partitions', '#letters']) {
      expect(await page.locator(part).isVisible(), part).toBe(false);
    }
    expect(complaints).toEqual([]);
  });
});
