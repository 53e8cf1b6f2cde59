/**
 * `make demo`: real prose through a real broker, a real model and a real store, in front of your eyes; then three
 * questions in plain words. Leaves `.demo/summary.json` and, with LanceDB, the store itself.
 */
import { readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import cliProgress from 'cli-progress';
import { KafkaAdmin } from '../../src/kafka/admin.ts';
import { createKafkaClient } from '../../src/kafka/client.ts';
import type { SinkChoice } from '../../src/sinks/registry.ts';
import { silentLog } from '../../src/telemetry/log.ts';
import { committedPath } from '../stack/package-root.ts';
import type { Program } from '../stack/program.ts';
import { type Answer, ask } from './ask.ts';
import { Demo, type DemoChoice, type DemoParts } from './parts.ts';
import { prose, questions } from './prose.ts';
import { readWorkerNumbers, type WorkerNumbers } from './worker-metrics.ts';

const CHUNKS = 300;
const GROUP = 'rag-batch-embedder-group';
const TOPIC = 'rag.ingestion.chunks';
const EMBED_LIMIT_MS = 600_000;

const say = (line: string) => process.stdout.write(`${line}\n`);

type Offsets = { readonly lag: number; readonly committed: number };

async function main(): Promise<number> {
  const choice = readChoice();
  const folder = join(committedPath('package.json'), '..', '.demo');
  const interrupt = new AbortController();
  const onSignal = () => {
    // Watchdogs end what is still running when the starter is gone.
    if (interrupt.signal.aborted) process.exit(130);
    say('\nstopping');
    interrupt.abort(new Error('interrupted'));
  };
  process.on('SIGINT', onSignal).on('SIGTERM', onSignal);
  const demo = new Demo(folder, (line) => say(`· ${line}`), interrupt.signal);
  try {
    await run(demo, choice, interrupt.signal);
    return 0;
  } catch (error) {
    if (interrupt.signal.aborted) return 130;
    say(`\nThe demo failed: ${error instanceof Error ? error.message : error}`);
    return 1;
  } finally {
    await demo.stop();
  }
}

async function run(demo: Demo, choice: DemoChoice, signal: AbortSignal): Promise<void> {
  const startedAt = performance.now();
  say(`rag-serving demo: engine ${choice.engine}, store ${choice.sink}\n`);
  const parts = await demo.start(choice);
  signal.throwIfAborted();
  say('· starting the worker');
  const worker = demo.run(['worker'], parts.env);
  const { port } = await worker.line(({ msg }) => msg === 'ops server listens');
  say('· cutting documentation into chunks and producing them to Kafka');
  const produced = await produce(demo, parts, signal);
  say(`· embedding ${produced} chunks`);
  const embedStartedAt = performance.now();
  const admin = new KafkaAdmin(
    createKafkaClient({
      bootstrapServers: [parts.bootstrapServers],
      sasl: undefined,
      tls: undefined,
      clientId: 'demo',
      log: silentLog,
    }),
  );
  try {
    await Promise.race([followProgress(Number(port), produced, signal), endsEarly(worker)]);
    const offsets = await untilLagZero(admin, signal);
    const embedSeconds = (performance.now() - embedStartedAt) / 1_000;
    const numbers = await readWorkerNumbers(Number(port));
    const exit = await worker.stop('SIGTERM', 30_000);
    if (exit.code !== 0) throw new Error(`the worker ended with code ${exit.code}:\n${worker.output.slice(-2_000)}`);
    const { answers, distinct } = await ask(questions, parts.engineUrl, sinkOf(parts), signal);
    for (const answer of answers) printAnswer(answer);
    await admin.close();
    await demo.stop();
    const seconds = (performance.now() - startedAt) / 1_000;
    summarize(demo.folder, { produced, distinct, numbers, offsets, embedSeconds, seconds });
  } finally {
    await admin.close();
  }
}

async function endsEarly(worker: Program): Promise<never> {
  const { code } = await worker.exited;
  throw new Error(`the worker ended with code ${code}:\n${worker.output.slice(-2_000)}`);
}

function readChoice(): DemoChoice {
  const { ENGINE: engine = 'embedded', SINK: sink = 'lancedb' } = process.env;
  if (engine !== 'embedded' && engine !== 'triton') throw new Error('ENGINE is embedded or triton');
  if (sink !== 'lancedb' && sink !== 'redis' && sink !== 'pgvector')
    throw new Error('SINK is lancedb, redis or pgvector');
  return { engine, sink };
}

async function produce(demo: Demo, parts: DemoParts, signal: AbortSignal): Promise<number> {
  const { base, paths } = prose();
  const args = ['produce', ...paths, '--base', base, '--limit', String(CHUNKS), '--partitions', '3', '--json'];
  const program = demo.run(args, parts.env);
  const { code } = await program.exited;
  signal.throwIfAborted();
  const summary = program.lines.find((line) => typeof line.produced === 'number');
  if (code !== 0 || summary === undefined) throw new Error(`produce ended with code ${code}:\n${program.output}`);
  return Number(summary.produced);
}

async function followProgress(port: number, total: number, signal: AbortSignal): Promise<void> {
  const bar = new cliProgress.SingleBar(
    {
      format: '  {bar} {percentage}% | {value}/{total} chunks stored | {rate}/s',
      noTTYOutput: true,
      notTTYSchedule: 10_000,
      stream: process.stdout,
    },
    cliProgress.Presets.shades_classic,
  );
  const startedAt = performance.now();
  bar.start(total, 0, { rate: 0 });
  try {
    for (;;) {
      const { persisted, deadLetters } = await readWorkerNumbers(port);
      const rate = Math.round(persisted / ((performance.now() - startedAt) / 1_000));
      bar.update(Math.min(total, persisted), { rate });
      if (persisted + deadLetters >= total) return;
      if (performance.now() - startedAt > EMBED_LIMIT_MS) throw new Error('not done within ten minutes');
      await sleep(250, undefined, { signal });
    }
  } finally {
    bar.stop();
  }
}

async function untilLagZero(admin: KafkaAdmin, signal: AbortSignal): Promise<Offsets> {
  for (;;) {
    const partitions = await admin.lag(GROUP, TOPIC);
    const lag = partitions.reduce((sum, { lag: behind }) => sum + Number(behind), 0);
    const committed = partitions.reduce((sum, { committed: offset = 0n }) => sum + Number(offset), 0);
    if (lag === 0) return { lag, committed };
    await sleep(200, undefined, { signal });
  }
}

function sinkOf({ env }: DemoParts): SinkChoice {
  switch (env.RAG_SERVING_SINK) {
    case 'redis':
      return { name: 'redis', options: { url: env.RAG_SERVING_REDIS_URL ?? '' } };
    case 'pgvector':
      return { name: 'pgvector', options: { url: env.RAG_SERVING_PGVECTOR_URL ?? '' } };
    default:
      return { name: 'lancedb', options: { uri: env.RAG_SERVING_LANCEDB_PATH ?? '', table: 'chunks' } };
  }
}

function printAnswer({ question, source, hits }: Answer): void {
  say(`\n? ${question}  (${source === 'rrf' ? 'as found' : 'reranked'})`);
  for (const { score, documentId, text } of hits) {
    say(`  ${score.toFixed(3)}  ${documentId}`);
    say(`         ${(text ?? '').replace(/\s+/g, ' ').slice(0, 150)}…`);
  }
}

type Result = {
  readonly produced: number;
  readonly distinct: number;
  readonly numbers: WorkerNumbers;
  readonly offsets: Offsets;
  readonly embedSeconds: number;
  readonly seconds: number;
};

function summarize(folder: string, { produced, distinct, numbers, offsets, embedSeconds, seconds }: Result): void {
  const { persisted, deadLetters, shmBatches, inlineBatches } = numbers;
  const summary = {
    produced,
    stored: persisted,
    distinct,
    committed: offsets.committed,
    lag: offsets.lag,
    shmBatches,
    inlineBatches,
    deadLetters,
    shmFilesLeft: readdirSync('/dev/shm').filter((name) => name.startsWith('rag-demo-')).length,
    chunksPerSecond: Math.round((persisted / embedSeconds) * 10) / 10,
    seconds: Math.round(seconds * 10) / 10,
  };
  writeFileSync(join(folder, 'summary.json'), `${JSON.stringify(summary, undefined, 2)}\n`);
  say(`
produced ${produced}, stored ${persisted} (${distinct} distinct), dead letters ${deadLetters}
committed offsets ${offsets.committed}, lag ${offsets.lag}
batches: ${shmBatches} in shared memory, ${inlineBatches} inline; files left in /dev/shm: ${summary.shmFilesLeft}
${summary.chunksPerSecond} chunks/s, ${summary.seconds} s in all; summary in .demo/summary.json`);
}

process.exitCode = await main();
