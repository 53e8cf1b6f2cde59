/** Runs `produce` for a person or a script: settings, Kafka, signals, progress, summary, exit code. */
import { resolve } from 'node:path';
import type { Env } from '../../src/config/env-reader.ts';
import { type ProduceConfig, readProduceConfig } from '../../src/config/tool-programs.ts';
import { isServingError, ServingError } from '../../src/errors.ts';
import { KafkaAdmin } from '../../src/kafka/admin.ts';
import { createKafkaClient } from '../../src/kafka/client.ts';
import { KafkaProducer } from '../../src/kafka/producer.ts';
import { type ExitCode, exitCodes } from '../exit-codes.ts';
import { findInputs } from '../files/inputs.ts';
import type { ProduceFlags } from '../produce.ts';
import { listenForStop } from '../signals.ts';
import { openProgress } from '../tool/progress.ts';
import { printWarnings, toolLog } from '../tool/tool-log.ts';
import { openEncoder } from './encoder.ts';
import { type ProduceResult, produce } from './run.ts';
import type { Write } from './sender.ts';

const SERVICE = 'rag-serving-produce';
const WORDING = { command: 'produce', arrived: 'acknowledged' } as const;

type Outlet = { readonly write: Write; close(): Promise<void> };

export async function runProduce(paths: readonly string[], flags: ProduceFlags, env: Env): Promise<ExitCode> {
  const dryRun = flags.dryRun === true;
  const config = readProduceConfig(withFlags(env, flags), { brokersElsewhere: dryRun });
  const { topic } = config.kafka;
  printWarnings(config);
  const inputs = await findInputs(paths, resolve(flags.base));
  const signals = listenForStop();
  let outlet: Outlet | undefined;
  try {
    const { schemas } = config;
    const request = { schemas, topic, schemaFile: flags.schema, dryRun };
    const encode = await openEncoder(request, signals.stopping);
    outlet = dryRun ? dryOutlet : await openKafka(config, flags);
    const totalBytes = inputs.reduce((sum, { bytes }) => sum + bytes, 0);
    const progress = openProgress(process.stderr, totalBytes, WORDING);
    const hurried = new Promise<undefined>((resolveHurry) => signals.onHurry(() => resolveHurry(undefined)));
    const job = {
      inputs,
      targetTokens: flags.chunkTokens,
      limit: flags.limit ?? Number.POSITIVE_INFINITY,
      write: outlet.write,
      encode,
      progress,
      now: () => performance.now(),
    };
    const result = await Promise.race([produce(job, signals.stopping), hurried]);
    progress.stop();
    if (result === undefined) {
      process.stderr.write('interrupted twice: did not wait for what was on its way\n');
      return exitCodes.unfinished;
    }
    report(result, topic, flags);
    return exitCodeFor(result);
  } finally {
    await outlet?.close();
  }
}

/** Options come before the environment and are checked in the same way. */
function withFlags(env: Env, { topic, bootstrapServers, valueFormat, schemaRegistry }: ProduceFlags): Env {
  return {
    ...env,
    ...(topic === undefined ? {} : { KAFKA_TOPIC: topic }),
    ...(bootstrapServers === undefined ? {} : { KAFKA_BOOTSTRAP_SERVERS: bootstrapServers }),
    ...(valueFormat === undefined ? {} : { KAFKA_VALUE_FORMAT: valueFormat }),
    ...(schemaRegistry === undefined ? {} : { KAFKA_SCHEMA_REGISTRY_URL: schemaRegistry }),
  };
}

const dryOutlet: Outlet = { write: async () => {}, close: async () => {} };

async function openKafka(config: ProduceConfig, { partitions }: ProduceFlags): Promise<Outlet> {
  const { topic } = config.kafka;
  const log = toolLog(config, SERVICE);
  const client = createKafkaClient({ ...config.kafka, clientId: SERVICE, log });
  const admin = new KafkaAdmin(client);
  try {
    if (partitions !== undefined) await admin.ensureTopic(topic, { partitions });
    else if (!(await admin.topicExists(topic))) {
      throw new ServingError(
        'KAFKA_TOPIC_UNKNOWN',
        `topic ${topic} does not exist; create it, or add --partitions 6 to have it created`,
      );
    }
  } finally {
    await admin.close();
  }
  const producer = new KafkaProducer({ client });
  return {
    write: (messages) =>
      producer.send(
        topic,
        messages.map(({ key, value }) => ({ key, value })),
      ),
    close: () => producer.close(),
  };
}

function report(result: ProduceResult, topic: string, { dryRun, json }: ProduceFlags): void {
  const { failure, chunks, ...counts } = result;
  if (json === true) {
    const summary = {
      topic,
      dryRun: dryRun === true,
      produced: chunks,
      ...counts,
      ...(failure === undefined ? {} : { error: failure.code }),
    };
    process.stdout.write(`${JSON.stringify(summary)}\n`);
  } else {
    const { documents, messages, seconds, chunksPerSecond, bad } = counts;
    const done = dryRun === true ? 'would send' : 'sent';
    process.stdout.write(
      `${done} ${chunks} chunks of ${documents} documents in ${messages} messages to ${topic} in ${seconds} s (${chunksPerSecond}/s); ${bad} bad\n`,
    );
  }
  if (failure !== undefined) process.stderr.write(`stopped: ${failure.message}${adviceOn(failure)}\n`);
  else if (counts.interrupted) process.stderr.write('interrupted: what was read before has been sent\n');
}

function adviceOn(failure: ServingError): string {
  return isServingError(failure, 'KAFKA_UNAVAILABLE')
    ? ' (some of the last messages may have arrived; sending them again is harmless)'
    : '';
}

function exitCodeFor({ failure, bad, interrupted }: ProduceResult): ExitCode {
  if (failure !== undefined) return exitCodes.failed;
  if (interrupted) return exitCodes.unfinished;
  return bad > 0 ? exitCodes.failed : exitCodes.done;
}
