/**
 * The picture of `status --watch` for its page: two real workers catch up with a backlog that has some bad messages in it, the
 * program draws into a pseudo-terminal of 80 x 24, and what xterm.js makes of that is photographed. Nothing on it is made up.
 * The same world gives the transcript of one look.
 */
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, expect, it } from 'vitest';
import { committedPath } from '../../scripts/stack/package-root.ts';
import { Program } from '../../scripts/stack/program.ts';
import { endOf } from '../integration/dlq/dlq-world.ts';
import { urlOf } from '../integration/status/status-world.ts';
import {
  chunkMessage,
  type Env,
  endPrograms,
  eventually,
  startEngine,
  startWorker,
  TestTopic,
} from '../integration/worker/harness.ts';
import { useBrowser } from '../support/browser.ts';
import { screenPage } from '../support/screen-picture.ts';
import { useKafka, useRedis } from '../support/stack.ts';
import { TerminalProgram } from '../support/terminal.ts';

const kafka = useKafka();
const redis = useRedis();
const browser = useBrowser();
const BACKLOG = 60_000;

class NamedTopic extends TestTopic {
  override readonly topic = 'rag.ingestion.chunks';
  override readonly group = 'rag-batch-embedder-group';
}

afterAll(endPrograms);

it('is photographed', { timeout: 300_000 }, async () => {
  const topic = new NamedTopic(kafka().bootstrapServers);
  await topic.create(6);
  await topic.send(
    Array.from({ length: BACKLOG }, (_, n) => {
      const text = n % 9_000 === 34 ? ' ' : n % 9_000 === 77 ? 'POISON' : `The ${n}th text, about its number.`;
      return chunkMessage({ chunkId: `doc-${n % 997}#${n}`, documentId: `doc-${n % 997}`, text });
    }),
  );
  const engine = await startEngine(['--synthetic', '--fault', 'POISON=invalid-argument', '--batch-ms', '150']);
  const settings: Env = {
    ...topic.env(kafka().bootstrapServers),
    RAG_SERVING_SINK: 'memory',
    RAG_SERVING_BATCH_INGEST_GRPC_URL: engine.target,
    RAG_SERVING_RETRY_REDIS_URL: redis().url,
    RAG_SERVING_RETRY_BACKOFF_MS: '600000',
  };
  const workers = [];
  for (const id of ['ingest-0', 'ingest-1']) {
    workers.push(await startWorker({ ...settings, RAG_SERVING_WORKER_ID: id }));
  }
  const asked = workers.flatMap((worker) => ['--worker', urlOf(worker)]);
  const terminal = new TerminalProgram(['status', '--watch', ...asked], { rows: 24, columns: 80, env: settings });
  try {
    await eventually(
      'there is much to see',
      async () => /zero in .*last CHUNK_BLANK.*ingest-1 +running +yes/s.test((await terminal.screen()).join('\n')),
      120_000,
    );
    const page = await browser().newPage();
    await page.setContent(screenPage(terminal.terminal));
    const images = join(committedPath('docs'), 'images');
    mkdirSync(images, { recursive: true });
    await page.locator('pre').screenshot({ path: join(images, 'status-watch.png') });
  } finally {
    terminal.type('\\x03');
    await terminal.exited;
  }
  const once = await endOf(new Program(['status', ...asked], settings));
  expect(once.code, once.output).toBe(0);
  process.stdout.write(`${once.output}\n`);
  await topic.close();
});
