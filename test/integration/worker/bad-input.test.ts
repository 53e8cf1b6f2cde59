/**
 * Every bad and odd message of the two tables through one worker, one topic and a real Redis, once; the tests then look at
 * what became of each.
 */
import { Redis } from 'ioredis';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { syntheticVector } from '../../../src/engine/synthetic.ts';
import type { StoredRow } from '../../../src/sinks/sink.ts';
import { useKafka, useRedis } from '../../support/stack.ts';
import { badInputs, FAULTS, SENTINEL } from './bad-input-cases.ts';
import { type EngineProcess, endPrograms, startEngine, startWorker, TestTopic, type WorkerProcess } from './harness.ts';
import { type Letter, readLetters } from './letters.ts';
import { oddMessages, WRONG_TYPE_ID } from './odd-message-cases.ts';
import { contractOf, readStored } from './stored.ts';

const PREFIX = 'bad:';
const WORKER_ID = 'bad-input';
const kafka = useKafka({ maxMessageBytes: 4_194_304 });
const redis = useRedis();
const inputs = [...badInputs, ...oddMessages];

let topic: TestTopic;
let engine: EngineProcess;
let worker: WorkerProcess;
let rows: ReadonlyMap<string, StoredRow>;
/** By offset of the message they came from, then by index. */
let letters: ReadonlyMap<number, readonly Letter[]>;

beforeAll(async () => {
  topic = new TestTopic(kafka().bootstrapServers);
  await topic.create(1);
  const client = new Redis(redis().url);
  await client.lpush(`${PREFIX}chunk:${WRONG_TYPE_ID}`, 'of another type');
  client.disconnect();
  for (const { messages } of inputs) await topic.send(messages);
  const faults = Object.entries(FAULTS).flatMap(([marker, kind]) => ['--fault', `${marker}=${kind}`]);
  engine = await startEngine(['--synthetic', ...faults]);
  worker = await startWorker({
    ...topic.env(kafka().bootstrapServers),
    RAG_SERVING_BATCH_INGEST_GRPC_URL: engine.target,
    RAG_SERVING_SINK: 'redis',
    RAG_SERVING_REDIS_URL: redis().url,
    RAG_SERVING_REDIS_KEY_PREFIX: PREFIX,
    RAG_SERVING_RETRY_MAX_ATTEMPTS: '1',
    RAG_SERVING_WORKER_ID: WORKER_ID,
    RAG_SERVING_LOG_LEVEL: 'DEBUG',
  });
  await topic.untilLagZero();
  const ids = inputs.flatMap(({ stored, absent = [] }) => [...Object.keys(stored), ...absent]);
  const found = new Map<string, StoredRow>();
  const choice = { name: 'redis', options: { url: redis().url, keyPrefix: PREFIX } } as const;
  await readStored(
    choice,
    await contractOf(engine.target),
    ids.filter((id) => id !== WRONG_TYPE_ID),
    (page) => {
      for (const row of page) found.set(row.chunkId, row);
    },
  );
  rows = found;
  letters = grouped(await readLetters(topic.client, `${topic.topic}.dlq`), ({ told }) =>
    Number(told.origin?.split('/').at(-1)),
  );
});
afterAll(async () => {
  await endPrograms();
  await topic?.close();
});

let offset = 0;
for (const { name, messages, stored, absent = [], letters: expected } of inputs) {
  const first = offset;
  offset += messages.length;
  describe(name, () => {
    it('what is good is stored, with its own vector', () => {
      for (const [id, text] of Object.entries(stored)) {
        expect(rows.get(id)?.text, id).toBe(text);
        expect(rows.get(id)?.vector, id).toEqual(syntheticVector(Buffer.from(text), 384));
      }
      for (const id of absent) expect(rows.has(id), id).toBe(false);
    });
    it(`${expected.length} dead letters, each once, with code, stage and reason`, () => {
      const ours = messages.flatMap((_, i) =>
        (letters.get(first + i) ?? []).toSorted((a, b) => Number(a.told.index) - Number(b.told.index)),
      );
      expect(ours.map(({ told }) => [told.code, told.stage, told.reason, told.index])).toEqual(
        expected.map(({ code, stage, says, index }) => [code, stage, expect.stringMatching(says), index?.toString()]),
      );
    });
  });
}

describe('a dead letter', () => {
  const sent = () => inputs.flatMap(({ messages }) => messages);

  it('holds the bytes of its message: key, value and headers', () => {
    for (const [at, buried] of letters) {
      const { key, value, headers = [] } = sent()[at]!;
      const before = grouped(headers, ([header]) => header);
      for (const letter of buried) {
        expect(letter.key).toEqual(key === null ? null : Buffer.from(key));
        expect(letter.value).toEqual(value === null ? null : Buffer.from(value));
        const expected = [...before].map(([header, all]) => [header, all.map(([, bytes]) => bytes)]);
        expect(letter.headers).toEqual(Object.fromEntries(expected));
      }
    }
  });

  it('says where it is from, who buried it and when', () => {
    for (const [at, buried] of letters) {
      for (const { told } of buried) {
        expect(told.origin).toBe(`${topic.topic}/0/${at}`);
        expect(told.worker).toBe(WORKER_ID);
        expect(Date.parse(told.at ?? '')).toBeGreaterThan(0);
        expect(Number(told.attempts)).toBeGreaterThan(0);
      }
    }
  });

  it('has nothing of the text in its headers', () => {
    for (const { told } of [...letters.values()].flat()) expect(JSON.stringify(told)).not.toContain(SENTINEL);
  });
});

describe('the worker', () => {
  it('counts what it did', async () => {
    const chunks = (outcome: string) => worker.metric('rag_serving_chunks_total', `outcome="${outcome}"`);
    const buried = [...letters.values()].flat().length;
    expect(buried).toBe(inputs.reduce((sum, input) => sum + input.letters.length, 0));
    expect(await worker.metric('rag_serving_dead_letters_total')).toBe(buried);
    expect(await chunks('dead-lettered')).toBe(buried);
    expect(await chunks('deleted')).toBe(3);
  });

  it('flags what it cut', () => {
    const cut = [...rows.values()].filter(({ truncated }) => truncated).map(({ chunkId }) => chunkId);
    expect(cut.toSorted()).toEqual(['p13#1', 'p13-unbroken']);
  });

  it('took no store or dead-letter write twice', async () => {
    for (const stage of ['persist', 'delete', 'dead_letter']) {
      const failed = [`stage="${stage}"`, 'result="failed"'];
      expect(await worker.metric('rag_serving_stage_duration_seconds_count', ...failed), stage).toBe(0);
    }
  });

  it('buries what came together together: far fewer writes than letters', async () => {
    const writes = await worker.metric('rag_serving_stage_duration_seconds_count', 'stage="dead_letter"');
    expect(writes).toBeLessThan([...letters.values()].flat().length / 2);
  });

  it('prints nothing of any text at DEBUG, nor does the engine, and stops in order', async () => {
    const pages = await Promise.all(['ready', 'metrics'].map((path) => worker.page(path)));
    expect(await worker.stop()).toEqual({ code: 0, signal: null });
    await engine.program.stop();
    for (const output of [worker.program.output, engine.program.output, ...pages])
      expect(output).not.toContain(SENTINEL);
    expect(worker.program.output).not.toContain('[object Object]');
  });
});

function grouped<K, V>(values: readonly V[], keyOf: (value: V) => K): ReadonlyMap<K, readonly V[]> {
  const groups = new Map<K, V[]>();
  for (const value of values) groups.set(keyOf(value), [...(groups.get(keyOf(value)) ?? []), value]);
  return groups;
}
