/**
 * A worker that lives, answers its probes and does nothing: seen once in a demo on a busy machine, where a topic had been
 * made after the worker had started. The race for the topic was innocent; the model server was too slow for what it was
 * asked, every answer came after its deadline, and the same was asked again.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type RunningKafka, startKafka } from '../../../scripts/stack/kafka.ts';
import { Program } from '../../../scripts/stack/program.ts';
import { chunkMessages, closeAll, freshName, startSource, toolsFor, until } from '../kafka/harness.ts';
import { chunksNamed, expectExactlyStored, expectNoDeadLetters, lancedbAt } from './evidence.ts';
import { chunkMessage, endPrograms, eventually, startEngine, startWorker, TestTopic } from './harness.ts';

let kafka: RunningKafka;
let folder: string;

beforeEach(async () => {
  // A fresh one for each test: its coordinator and its first topics are part of the race.
  kafka = await startKafka();
  folder = mkdtempSync(join(tmpdir(), 'rag-worker-'));
});
afterEach(async () => {
  await endPrograms();
  await closeAll();
  await kafka.stop();
  rmSync(folder, { recursive: true, force: true });
});

describe('the topic is made while the worker waits for it', () => {
  it('at whatever moment, and written to at once: all of it is read', async () => {
    const rounds = Array.from({ length: 24 }, (_, round) => round);
    await Promise.all(
      rounds.map(async (round) => {
        const tools = toolsFor(kafka.bootstrapServers);
        const [topic, groupId] = [freshName('race'), freshName('group-race')];
        const run = await startSource(kafka.bootstrapServers, { topic, groupId });
        // Around the moments at which the source looks again, 0.5 and 1.5 s after its first try.
        await sleep((round % 2 === 0 ? 400 : 1_400) + round * 10);
        await tools.admin.ensureTopic(topic, { partitions: 3 });
        for (const partition of [0, 1, 2]) await tools.producer.send(topic, chunkMessages(20, partition));
        await until(`all records of round ${round}`, () => run.records.length === 60, 60_000);
        await tools.close();
      }),
    );
  });

  it('by `produce --partitions`, as in the demo', async () => {
    const topic = new TestTopic(kafka.bootstrapServers);
    const engine = await startEngine();
    const env = {
      ...topic.env(kafka.bootstrapServers),
      RAG_SERVING_BATCH_INGEST_GRPC_URL: engine.target,
      RAG_SERVING_LANCEDB_PATH: folder,
      RAG_SERVING_WORKER_ID: 'stall-test',
    };
    const worker = await startWorker(env);
    await worker.program.line(({ code }) => code === 'KAFKA_TOPIC_UNKNOWN');
    const produce = new Program(['produce', 'docs', '--partitions', '3', '--json'], env);
    expect(await produce.exited).toEqual({ code: 0, signal: null });
    const produced = Number(produce.lines.find(({ produced }) => produced !== undefined)?.produced);
    expect(produced).toBeGreaterThan(10);
    await topic.untilLagZero();
    expect(await worker.metric('rag_serving_chunks_total', 'outcome="persisted"')).toBe(produced);
    expect(await worker.stop()).toEqual({ code: 0, signal: null });
    await topic.close();
  });
});

describe('the model server is too slow for what is asked of it', () => {
  it.for([
    ['four batches together', '10', '32'],
    ['one batch alone', '25', '256'],
  ] as const)('%s take longer than the deadline of each: smaller ones are asked for', async ([, msARow, maxBatch]) => {
    const topic = new TestTopic(kafka.bootstrapServers);
    await topic.create(3);
    const chunks = chunksNamed('slow', 300);
    const engine = await startEngine(['--synthetic', '--per-text-us', `${msARow}000`]);
    const worker = await startWorker({
      ...topic.env(kafka.bootstrapServers),
      RAG_SERVING_BATCH_INGEST_GRPC_URL: engine.target,
      RAG_SERVING_LANCEDB_PATH: folder,
      RAG_SERVING_WORKER_ID: 'stall-test',
      RAG_SERVING_MAX_BATCH_SIZE: maxBatch,
      RAG_SERVING_INFERENCE_TIMEOUT_MS: '1000',
    });
    await topic.send(chunks.map((chunk) => chunkMessage(chunk)));
    await eventually('a deadline missed', async () => {
      return (await worker.metric('rag_serving_stage_errors_total', 'code="INFERENCE_DEADLINE"')) > 0;
    });
    await topic.untilLagZero();
    expect(await worker.stop()).toEqual({ code: 0, signal: null });
    await expectExactlyStored(lancedbAt(folder), chunks);
    await expectNoDeadLetters(topic);
    await topic.close();
  });
});
