/** The worker and `produce` with a real schema registry and a real broker. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { Program } from '../../../scripts/stack/program.ts';
import type { SchemaFormat } from '../../../src/schemas/codec.ts';
import { RegistryClient } from '../../../src/schemas/registry-client.ts';
import { schemaCodec } from '../../../src/schemas/schema-codec.ts';
import { framed } from '../../../src/schemas/wire-format.ts';
import { useKafka, useSchemaRegistry } from '../../support/stack.ts';
import { endPrograms, eventually, startEngine, startWorker, TestTopic, type WorkerProcess } from '../worker/harness.ts';
import { readLetters } from '../worker/letters.ts';

const kafka = useKafka();
const registry = useSchemaRegistry();
let folder: string;
let topic: TestTopic;
let client: RegistryClient;

const FILES = {
  avro: 'examples/schemas/chunk.avsc',
  'json-schema': 'examples/schemas/chunk.schema.json',
  protobuf: 'examples/schemas/chunk.proto',
} as const satisfies Record<SchemaFormat, string>;

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'rag-schemas-'));
  topic = new TestTopic(kafka().bootstrapServers);
  await topic.create(2);
  const tls = { ca: undefined, cert: undefined, key: undefined };
  client = new RegistryClient({ urls: [registry().url], authorization: undefined, tls, timeoutMs: 10_000 });
});
afterEach(async () => {
  await registry().kill('SIGCONT');
  await endPrograms();
  client.close();
  await topic.close();
  rmSync(folder, { recursive: true, force: true });
});

const env = (format: string) => ({
  ...topic.env(kafka().bootstrapServers),
  KAFKA_VALUE_FORMAT: format,
  KAFKA_SCHEMA_REGISTRY_URL: registry().url,
});

async function startSchemaWorker(format: string, more: Record<string, string> = {}): Promise<WorkerProcess> {
  const engine = await startEngine();
  return await startWorker({
    ...env(format),
    RAG_SERVING_BATCH_INGEST_GRPC_URL: engine.target,
    RAG_SERVING_LANCEDB_PATH: join(folder, 'store'),
    ...more,
  });
}

async function produce(format: SchemaFormat, ids: readonly string[], more: readonly string[] = []): Promise<string> {
  const file = join(folder, `${format}.ndjson`);
  const chunk = (id: string) => ({ chunk_id: id, document_id: 'd', text: `text of ${id}`, metadata: { lang: 'en' } });
  writeFileSync(file, ids.map((id) => JSON.stringify(chunk(id))).join('\n'));
  const program = new Program(['produce', file, ...more], env(format));
  const { code } = await program.exited;
  expect(code, program.output).toBe(0);
  return program.output;
}

/** Its schema and an encoder for it; registered under the subject of the topic. */
async function registered(format: SchemaFormat, subject = `${topic.topic}-value`) {
  const schema = { format, text: readFileSync(FILES[format], 'utf8'), references: [] };
  const [codec, id] = [schemaCodec(schema, format), await client.register(subject, schema)];
  return (chunkId: string) => ({
    key: 'd',
    value: framed(id, codec.encode({ chunk_id: chunkId, text: `text of ${chunkId}` })),
  });
}

const persisted = (worker: WorkerProcess) => worker.metric('rag_serving_chunks_total', 'outcome="persisted"');
const letters = () => readLetters(topic.client, `${topic.topic}.dlq`);

describe('values by a registered schema', () => {
  for (const format of ['avro', 'json-schema', 'protobuf'] as const) {
    it(`${format}: what produce sends, the worker stores`, async () => {
      await produce(format, ['a', 'b', 'c'], ['--schema', FILES[format]]);
      await produce(format, ['d'], []);
      const worker = await startSchemaWorker(format);
      await topic.untilLagZero();
      expect(await persisted(worker)).toBe(4);
      expect(await letters()).toEqual([]);
      expect(await worker.stop()).toEqual({ code: 0, signal: null });
    });
  }

  it('an unknown schema, a body that does not fit and a value without schema are dead letters, bytes as they were; the others go on', async () => {
    const chunk = await registered('avro');
    const bad = [
      framed(999_999, Buffer.from('x')),
      Buffer.concat([Buffer.from(chunk('cut').value).subarray(0, 8)]),
      Buffer.from('{"chunk_id":"j","text":"x"}'),
    ];
    await topic.send([chunk('a'), ...bad.map((value) => ({ key: 'd', value })), chunk('b')]);
    const worker = await startSchemaWorker('avro');
    await topic.untilLagZero();
    expect(await persisted(worker)).toBe(2);
    const found = await letters();
    expect(found.map(({ told }) => told.code)).toEqual(['SCHEMA_UNKNOWN', 'VALUE_UNDECODABLE', 'VALUE_UNDECODABLE']);
    expect(found.map(({ value }) => value)).toEqual(bad);
  });

  it('auto: plain JSON and all three languages in one topic, in order', async () => {
    const chunks = await Promise.all(
      (['avro', 'json-schema', 'protobuf'] as const).map((format) => registered(format, `${topic.topic}.${format}`)),
    );
    const messages = ['a', 'b'].flatMap((id) => [
      ...chunks.map((chunk, index) => chunk(`${id}${index}`)),
      { key: 'd', value: JSON.stringify({ chunk_id: `${id}9`, text: 'x' }) },
    ]);
    await topic.send(messages);
    const worker = await startSchemaWorker('auto', { KAFKA_SCHEMA_SUBJECT: 'none' });
    await topic.untilLagZero();
    expect(await persisted(worker)).toBe(8);
    expect(await letters()).toEqual([]);
  });

  it('a registry that is away: partitions wait, nothing is dead-lettered, and all is stored when it is back', async () => {
    const chunk = await registered('avro');
    const worker = await startSchemaWorker('avro', { KAFKA_SCHEMA_REGISTRY_TIMEOUT_MS: '500' });
    await eventually('ready', async () => (await worker.ready()).status === 200, 60_000);
    await registry().kill('SIGSTOP');
    await topic.send([chunk('a'), chunk('b')]);
    await eventually('said', async () => {
      const { status, body } = await worker.ready();
      return status === 503 && body.checks.some(({ name, ok }) => name === 'schema-registry' && !ok);
    });
    expect(await worker.metric('rag_serving_partitions_waiting', 'reason="schema not read yet"')).toBe(1);
    expect(await topic.lag()).toBe(2);
    await registry().kill('SIGCONT');
    await topic.untilLagZero();
    expect(await persisted(worker)).toBe(2);
    expect(await letters()).toEqual([]);
    await eventually('ready again', async () => (await worker.ready()).status === 200);
  });

  it('a stop while a schema is waited for ends in order, and what waited is read again later', async () => {
    const chunk = await registered('avro');
    const worker = await startSchemaWorker('avro', { KAFKA_SCHEMA_REGISTRY_TIMEOUT_MS: '500' });
    await eventually('ready', async () => (await worker.ready()).status === 200, 60_000);
    await registry().kill('SIGSTOP');
    await topic.send([chunk('a')]);
    await eventually(
      'waits',
      async () => (await worker.metric('rag_serving_partitions_waiting', 'reason="schema not read yet"')) === 1,
    );
    expect(await worker.stop()).toEqual({ code: 0, signal: null });
    expect(await topic.lag()).toBe(1);
  });
});

describe('the subject at start', () => {
  it('that does not exist ends the worker with a clear error', async () => {
    const worker = await startSchemaWorker('avro');
    expect(await worker.program.exited).toMatchObject({ code: 1 });
    expect(worker.program.output).toMatch(/SCHEMA_MISMATCH.*subject rag\.test\.\w+-value does not exist/s);
  });
});
