/**
 * The picture of the live page for the README: a real worker, fifteen minutes of load in waves with a burst and some bad
 * messages, photographed in a real browser. Nothing on it is made up; LIVE_PAGE_MINUTES shortens it.
 */
import { mkdirSync, mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, expect, it } from 'vitest';
import { committedPath } from '../../scripts/stack/package-root.ts';
import { chunkMessage, endPrograms, startEngine, startWorker, TestTopic } from '../integration/worker/harness.ts';
import { openPage, useBrowser } from '../support/browser.ts';
import { useKafka, useRedis } from '../support/stack.ts';

const kafka = useKafka();
const redis = useRedis();
const browser = useBrowser();
const folder = mkdtempSync(join(tmpdir(), 'rag-live-page-'));
const seconds = Number(process.env.LIVE_PAGE_MINUTES ?? 15.2) * 60;
const BURST = 6_000;

afterAll(async () => {
  await endPrograms();
  rmSync(folder, { recursive: true, force: true });
});

/** Chunks to send in this second. */
function loadAt(second: number): number {
  const wave = Math.round(60 + 45 * Math.sin(second / 40) + 15 * Math.sin(second / 7));
  return second % 420 === 200 ? BURST : wave;
}

it('is photographed', { timeout: (seconds + 300) * 1_000 }, async () => {
  const topic = new TestTopic(kafka().bootstrapServers);
  await topic.create(6);
  const engine = await startEngine();
  const metricsPort = engine.program.lines.find(({ event }) => event === 'engine ready')?.metricsPort;
  const worker = await startWorker({
    ...topic.env(kafka().bootstrapServers),
    RAG_SERVING_WORKER_ID: 'ingest-0',
    RAG_SERVING_BATCH_INGEST_GRPC_URL: engine.target,
    RAG_SERVING_TRITON_METRICS_URL: `http://127.0.0.1:${metricsPort}/metrics`,
    RAG_SERVING_LANCEDB_PATH: folder,
    RAG_SERVING_RETRY_REDIS_URL: redis().url,
  });
  const { page, complaints } = await openPage(browser());
  await page.goto(`http://127.0.0.1:${worker.port}/`);

  let sent = 0;
  const began = performance.now();
  for (let second = 0; second < seconds; second++) {
    const chunks = Array.from({ length: loadAt(second) }, () => {
      const id = sent++;
      const text = id % 9_000 === 1_234 ? ' ' : `The ${id}th text, about nothing but its own number.`;
      return chunkMessage({ chunkId: `doc-${id % 997}#${id}`, documentId: `doc-${id % 997}`, text });
    });
    await topic.send(chunks);
    await sleep(Math.max(0, began + (second + 1) * 1_000 - performance.now()));
  }

  expect(complaints).toEqual([]);
  const images = join(committedPath('docs'), 'images');
  mkdirSync(images, { recursive: true });
  const path = join(images, 'live-page.png');
  await page.screenshot({ path, fullPage: true });
  expect(statSync(path).size).toBeLessThan(300_000);
  await topic.close();
});
