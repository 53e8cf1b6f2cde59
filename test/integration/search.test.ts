/** `rag-serving search` as a program, against the embedded engine and a real LanceDB: what it shows, and what it says when something is missing. */
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, expect, it } from 'vitest';
import { freePort } from '../../scripts/stack/free-port.ts';
import { killAllPrograms, Program } from '../../scripts/stack/program.ts';
import { systemClock } from '../../src/clock.ts';
import { bytesPerVector } from '../../src/kserve/contract.ts';
import { embedderContract } from '../../src/kserve/model-contract.ts';
import { InlineTransport } from '../../src/pipeline/inline-transport.ts';
import { updateChangeover } from '../../src/sinks/changeover.ts';
import { createSink } from '../../src/sinks/registry.ts';
import { createStoreAdmin } from '../../src/sinks/store-admin.ts';
import { silentLog } from '../../src/telemetry/log.ts';
import { type RunningEngine, runEngine } from '../contract/engine/engine-fixture.ts';
import { rowOf } from '../contract/sink-rows.ts';
import { type CommandEnd, endOf } from './dlq/dlq-world.ts';

const folder = mkdtempSync(join(tmpdir(), 'rag-search-'));
const texts = ['SENTINEL apples', 'SENTINEL pears', 'SENTINEL plums'];
let engine: RunningEngine;

async function fill(
  table: string,
  changes: { readonly fingerprint?: string; readonly text?: boolean; readonly rows?: number } = {},
) {
  const timeoutMs = 10_000;
  const contract = embedderContract(await engine.client.describeModel('batch_embedder_ensemble', { timeoutMs }));
  const transport = new InlineTransport({ client: engine.client, contract, timeoutMs });
  const { vectors } = await transport.embed(texts, undefined, AbortSignal.timeout(timeoutMs));
  const sink = await createSink({ name: 'lancedb', options: { uri: folder, table } }, silentLog, systemClock);
  await sink.open({ ...contract, fingerprint: changes.fingerprint ?? contract.fingerprint });
  const size = bytesPerVector(contract);
  await sink.write(
    texts.slice(0, changes.rows ?? texts.length).map((text, n) =>
      rowOf(`c${n}`, {
        ...{ documentId: `doc-${n}`, tenantId: n === 0 ? 'acme' : undefined, metadata: { secret: 'META-SENTINEL' } },
        ...{ vector: vectors.subarray(n * size, (n + 1) * size), text: changes.text === false ? undefined : text },
      }),
    ),
  );
  await sink.close();
}

beforeAll(async () => {
  engine = await runEngine();
  await fill('chunks');
});
afterEach(() => killAllPrograms());
afterAll(async () => {
  await engine.stop();
  rmSync(folder, { recursive: true, force: true });
});

function search(args: readonly string[], more: Readonly<Record<string, string>> = {}): Promise<CommandEnd> {
  const url = `127.0.0.1:${engine.engine.ports.grpcPort}`;
  const addresses = { RAG_SERVING_ONLINE_EMBED_GRPC_URL: url, RAG_SERVING_ONLINE_RERANK_GRPC_URL: url };
  return endOf(new Program(['search', ...args], { RAG_SERVING_LANCEDB_PATH: folder, ...addresses, ...more }));
}

it('shows rank, score and ids of the nearest, and no text or metadata unless asked for', async () => {
  const end = await search(['SENTINEL pears']);
  expect(end.code).toBe(0);
  expect(end.output).toMatch(/^RANK +SCORE +CHUNK +DOCUMENT +TENANT\n1 +1\.0000 +c1 +doc-1 +-\n/);
  expect(end.output).toMatch(/LanceDB table "chunks".*3 rows, exact scan.*by similarity/);
  expect(`${end.output}`).not.toContain('SENTINEL');
  const shown = await search(['SENTINEL pears', '--show-text', '--show-metadata', '--limit', '1']);
  expect(shown.output).toContain('1: SENTINEL pears\n');
  expect(shown.output).toContain('META-SENTINEL');
  expect(shown.output).not.toContain('SENTINEL apples');
});

it('finds the chunks of one tenant, as JSON', async () => {
  const end = await search(['SENTINEL pears', '--tenant', 'acme', '--json']);
  expect(JSON.parse(end.output)).toMatchObject({
    ...{ event: 'search', query: 1, source: 'similarity', degraded: null, rows: 3 },
    results: [{ rank: 1, chunkId: 'c0', documentId: 'doc-0', tenantId: 'acme' }],
  });
  expect(end.output).not.toContain('SENTINEL');
});

it('lets the reranker order them, and shows when it could not', async () => {
  const end = await search(['SENTINEL plums', '--rerank', '--limit', '2', '--json']);
  expect(JSON.parse(end.output)).toMatchObject({
    source: 'reranker',
    degraded: null,
    results: [{ chunkId: 'c2' }, {}],
  });
  const away = { RAG_SERVING_ONLINE_RERANK_GRPC_URL: `127.0.0.1:${await freePort()}` };
  const degraded = await search(['SENTINEL plums', '--rerank'], away);
  expect(degraded.code).toBe(0);
  expect(degraded.output).toMatch(/1 +0\.0164 +c2 /);
  expect(degraded.output).toMatch(/DEGRADED, not reranked \(.+\): by reciprocal rank/);
  await fill('textless', { text: false });
  const textless = await search(['SENTINEL plums', '--rerank'], { RAG_SERVING_LANCEDB_TABLE: 'textless' });
  expect(textless.output).toMatch(/DEGRADED.*RAG_SERVING_STORE_TEXT.*by similarity/);
  const off = await search(['x', '--rerank'], { RAG_SERVING_ONLINE_RERANK_MODEL: 'off' });
  expect(off).toMatchObject({ code: 2, output: expect.stringContaining('RAG_SERVING_ONLINE_RERANK_MODEL') });
});

it('an empty collection finds nothing, and one that is not there is not made', async () => {
  await fill('empty', { rows: 0 });
  const empty = await search(['x'], { RAG_SERVING_LANCEDB_TABLE: 'empty' });
  expect(empty).toMatchObject({ code: 0, output: expect.stringMatching(/^nothing found\n.* 0 rows/) });
  const before = readdirSync(folder);
  const missing = await search(['x'], { RAG_SERVING_LANCEDB_TABLE: 'typo' });
  expect(missing).toMatchObject({ code: 2, output: expect.stringMatching(/no collection.*RAG_SERVING_SINK/) });
  expect(readdirSync(folder)).toEqual(before);
});

it('a collection of another model is refused, and no answer is given', async () => {
  await fill('foreign', { fingerprint: 'fp-other' });
  const end = await search(['x'], { RAG_SERVING_LANCEDB_TABLE: 'foreign' });
  expect(end).toMatchObject({
    code: 1,
    output: expect.stringMatching(/fingerprint fp-other.*cannot be compared/),
  });
});

it('the engine away and the store away are told by their addresses', async () => {
  const port = await freePort();
  const engineAway = await search(['x'], { RAG_SERVING_ONLINE_EMBED_GRPC_URL: `127.0.0.1:${port}` });
  expect(engineAway).toMatchObject({ code: 1 });
  expect(engineAway.output).toMatch(/online_embedder_ensemble|127\.0\.0\.1/);
  const store = { RAG_SERVING_SINK: 'redis', RAG_SERVING_REDIS_URL: `redis://:PW-SENTINEL@127.0.0.1:${port}` };
  const storeAway = await search(['x'], store);
  expect(storeAway).toMatchObject({ code: 1, output: expect.stringContaining(`127.0.0.1:${port}`) });
  expect(storeAway.output).not.toContain('SENTINEL');
});

it('a blank query and an empty input are wrong usage', async () => {
  expect(await search([' '])).toMatchObject({ code: 2, output: expect.stringContaining('blank') });
  expect(await search([])).toMatchObject({ code: 2, output: expect.stringContaining('query') });
});

it('looks into the collection that was made current under the configured name', async () => {
  await fill('newer', { rows: 2 });
  const admin = await createStoreAdmin({ name: 'lancedb', options: { uri: folder, table: 'chunks' } }, silentLog);
  try {
    await updateChangeover(admin, 'chunks', (now) => ({ ...now, current: 'newer' }));
    expect((await search(['SENTINEL pears'])).output).toMatch(/LanceDB table "newer".*2 rows/);
    await updateChangeover(admin, 'chunks', (now) => ({ ...now, current: undefined }));
    expect((await search(['SENTINEL pears'])).output).toMatch(/LanceDB table "chunks".*3 rows/);
  } finally {
    await admin.close();
  }
});
