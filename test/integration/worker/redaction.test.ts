/**
 * Sentinels in texts, metadata, keys, ids and headers through every way in which something fails, at log level DEBUG:
 * no program prints any, and neither do the pages of the ops server.
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { Program } from '../../../scripts/stack/program.ts';
import type { OutgoingMessage } from '../../../src/kafka/producer.ts';
import { useKafka, useRedis } from '../../support/stack.ts';
import {
  type Env,
  endPrograms,
  eventually,
  startEngine,
  startWorker,
  TestTopic,
  type WorkerProcess,
} from './harness.ts';

const SENTINELS = ['TEXT-SENTINEL', 'META-SENTINEL', 'KEY-SENTINEL', 'ID-SENTINEL', 'HEADER-SENTINEL'] as const;
const [TEXT, META, KEY, ID, HEADER] = SENTINELS;
/** Of the engine: a marker in a text, and what then goes wrong. `unavailable` goes on for as long as the text is there. */
const FAULTS = {
  refuse: 'invalid-argument',
  fail: 'internal',
  nan: 'nan',
  zero: 'zero',
  away: 'unavailable',
} as const;
const FAULT_ARGUMENTS = Object.entries(FAULTS).flatMap(([word, kind]) => ['--fault', `make-${word}=${kind}`]);

const kafka = useKafka();
const redis = useRedis();
let folder: string;
let topic: TestTopic;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'rag-redaction-'));
  topic = new TestTopic(kafka().bootstrapServers);
});
afterEach(async () => {
  await endPrograms();
  await topic.close();
  rmSync(folder, { recursive: true, force: true });
});

function envOf(target: string, more: Env): Env {
  return {
    ...topic.env(kafka().bootstrapServers),
    RAG_SERVING_BATCH_INGEST_GRPC_URL: target,
    RAG_SERVING_WORKER_ID: 'redaction',
    RAG_SERVING_LOG_LEVEL: 'DEBUG',
    RAG_SERVING_DRAIN_TIMEOUT_MS: '3000',
    ...more,
  };
}

function message(id: string, about = '', value?: string): OutgoingMessage {
  const chunk = { chunk_id: `${ID}-${id}`, text: `${TEXT} ${about}`, metadata: { [META]: META } };
  return {
    key: `${KEY}-${id}`,
    value: value ?? JSON.stringify(chunk),
    headers: [
      ['traceparent', Buffer.from(HEADER)],
      [HEADER, Buffer.from(HEADER)],
    ],
  };
}

const misfits: readonly OutgoingMessage[] = [
  message('not-json', '', `${TEXT} is no JSON`),
  message('half-json', '', `{"chunk_id":"${ID}","text":"${TEXT}`),
  message('number', '', `{"chunk_id":7,"text":"${TEXT}"}`),
  message('metadata', '', `{"chunk_id":"${ID}","text":"${TEXT}","metadata":"${META}"}`),
  message('blank', '', `{"chunk_id":"${ID}","text":" ","metadata":{"${META}":"${META}"}}`),
  message('batch', '', `{"chunks":[{"chunk_id":"${ID}"},"${TEXT}",{"chunk_id":"${ID}","text":["${TEXT}"]}]}`),
  { ...message('scope'), value: null, headers: [['rag-scope', Buffer.from(HEADER)]] },
  message('refuse', 'make-refuse'),
  message('fail', 'make-fail'),
  message('nan', 'make-nan'),
  message('zero', 'make-zero'),
];

/** Lines of what was printed or answered that hold a sentinel, cut to what can be read. */
async function leaks(worker: WorkerProcess): Promise<readonly string[]> {
  const pages = await Promise.all(['ready', 'healthz', 'metrics'].map((path) => worker.page(path)));
  return leaksOf(pages.join('\n'));
}

function leaksOf(output: string): readonly string[] {
  return output.split('\n').flatMap((line) => {
    const at = line.search(/SENTINEL/);
    return at === -1 ? [] : [line.slice(Math.max(0, at - 300), at + 100)];
  });
}

describe('nothing of a message is printed', () => {
  it('by a worker and an engine through bad input, refusals, dead letters and outages of all its servers', async () => {
    await topic.create(2);
    const prefix = `${topic.topic}:`;
    const client = new Redis(redis().url);
    await client.lpush(`${prefix}chunk:${ID}-wrong-type`, 'a list');
    client.disconnect();
    const first = await startEngine(['--synthetic', ...FAULT_ARGUMENTS]);
    const store = {
      RAG_SERVING_SINK: 'redis',
      RAG_SERVING_REDIS_URL: redis().url,
      RAG_SERVING_REDIS_KEY_PREFIX: prefix,
    };
    const worker = await startWorker(envOf(first.target, store));
    const found: string[] = [];
    const look = async () => void found.push(...(await leaks(worker)));
    const notReady = (name: string) =>
      eventually(`${name} fails`, async () => {
        await look();
        return (await worker.ready()).body.checks.some((check) => check.name === name && !check.ok);
      });

    await topic.send([...misfits, message('wrong-type'), message('good')]);
    await topic.untilLagZero();
    await look();

    await redis().kill();
    await topic.send([message('redis-away')]);
    await notReady('store');
    await redis().restart();
    await topic.untilLagZero();

    await first.program.kill();
    await topic.send([message('engine-away')]);
    await notReady('model-server');
    const second = await startEngine(['--synthetic', ...FAULT_ARGUMENTS], first.grpcPort);
    await topic.untilLagZero();

    await topic.send([message('before-broker-away', '', 'bad')]);
    await kafka().kill();
    await notReady('consumer');
    await kafka().restart();
    await topic.untilLagZero();

    // A text that looks like an outage whenever it is asked about: it ends in the retry queue.
    await topic.send([message('away', 'make-away')]);
    await topic.untilLagZero();

    await second.program.kill();
    await topic.send([message('at-the-end')]);
    await notReady('model-server');
    expect((await worker.stop()).code).toBe(3);
    const outputs = [worker.program, first.program, second.program].map(({ output }) => output);
    expect([...found, ...leaksOf(outputs.join('\n'))]).toEqual([]);
    expect(outputs[0]).toMatch(/SINK_UNAVAILABLE[\s\S]*INFERENCE_UNAVAILABLE/);
  });

  it('by a worker whose LanceDB folder goes away', async () => {
    await topic.create(1);
    const { target, program } = await startEngine();
    const path = join(folder, 'lancedb');
    const worker = await startWorker(envOf(target, { RAG_SERVING_LANCEDB_PATH: path }));
    await topic.send([message('one'), message('two')]);
    await topic.untilLagZero();
    rmSync(path, { recursive: true });
    writeFileSync(path, 'a file where the folder was');
    await topic.send([message('three'), { ...message('two'), value: null }]);
    await worker.program.line(({ msg }) => msg === 'attempt failed, will retry' || msg === 'the worker cannot go on');
    await worker.stop();
    expect(leaksOf(`${worker.program.output}\n${program.output}`)).toEqual([]);
  });

  it('by produce, of lines that are bad and of one that the topic does not take', async () => {
    const file = join(folder, 'chunks.ndjson');
    const lines = misfits.flatMap(({ value }) => (typeof value === 'string' ? [value] : []));
    const large = JSON.stringify({ chunk_id: ID, text: TEXT.padEnd(5_000, TEXT) });
    writeFileSync(file, [...lines, JSON.stringify({ text: TEXT }), large, TEXT].join('\n'));
    await topic.admin.ensureTopic(topic.topic, { partitions: 1, configEntries: { 'max.message.bytes': '2000' } });
    const produce = new Program(['produce', file, '--bootstrap-servers', kafka().bootstrapServers], {
      RAG_SERVING_LOG_LEVEL: 'DEBUG',
      KAFKA_TOPIC: topic.topic,
    });
    expect(await produce.exited).toEqual({ code: 1, signal: null });
    expect(produce.output).toMatch(/chunks\.ndjson.*no JSON[\s\S]*MESSAGE_TOO_LARGE/);
    expect(leaksOf(produce.output)).toEqual([]);
  });
});
