/** What every `reembed` command works with: the worker's settings, the store, its changeover, and the broker if there is one. */
import { systemClock } from '../../src/clock.ts';
import type { Env } from '../../src/config/env-reader.ts';
import { readReembedConfig, type WorkerConfig } from '../../src/config/programs.ts';
import { KafkaAdmin } from '../../src/kafka/admin.ts';
import { createKafkaClient } from '../../src/kafka/client.ts';
import { type Changeover, readChangeover } from '../../src/sinks/changeover.ts';
import { createSink } from '../../src/sinks/registry.ts';
import type { CollectionDescription, Sink } from '../../src/sinks/sink.ts';
import {
  type CollectionChoice,
  collectionNameOf,
  createStoreAdmin,
  oneCollection,
  type StoreAdmin,
  withCollection,
} from '../../src/sinks/store-admin.ts';
import type { Log } from '../../src/telemetry/log.ts';
import type { ExitCode } from '../exit-codes.ts';
import { interruptible } from '../tool/interruptible.ts';
import { printWarnings, toolLog } from '../tool/tool-log.ts';
import { sinkChoice } from '../worker/store.ts';

export type OpenedStore = {
  readonly config: WorkerConfig;
  readonly choice: CollectionChoice;
  /** The collection that the settings name: readers know it by this name. */
  readonly base: string;
  readonly admin: StoreAdmin;
  /** Undefined where no brokers are named. */
  readonly kafka: KafkaAdmin | undefined;
  readonly log: Log;
};

export type Tool = OpenedStore & { readonly changeover: Changeover };

export async function withStore<T>(
  config: WorkerConfig,
  log: Log,
  work: (opened: OpenedStore) => Promise<T>,
): Promise<T> {
  const choice = oneCollection(sinkChoice(config.sink));
  const admin = await createStoreAdmin(choice, log);
  const kafka =
    config.kafka.bootstrapServers.length === 0
      ? undefined
      : new KafkaAdmin(createKafkaClient({ ...config.kafka, clientId: 'rag-serving-reembed', log }));
  try {
    return await work({ config, choice, base: collectionNameOf(choice), admin, kafka, log });
  } finally {
    await Promise.all([admin.close(), kafka?.close()]);
  }
}

export function withTool(env: Env, work: (tool: Tool, signal: AbortSignal) => Promise<ExitCode>): Promise<ExitCode> {
  const config = readReembedConfig(env);
  printWarnings(config);
  const log = toolLog(config, 'rag-serving-reembed');
  return interruptible((signal) =>
    withStore(config, log, async (opened) => {
      const changeover = await readChangeover(opened.admin, opened.base, signal);
      return work({ ...opened, changeover }, signal);
    }),
  );
}

export type Looked = { readonly sink: Sink; readonly description: CollectionDescription };

/** The collection opened to be read, undefined when it is not there. Whoever gets one closes it. */
export async function look(
  { choice, log }: Pick<OpenedStore, 'choice' | 'log'>,
  collection: string,
  signal: AbortSignal,
): Promise<Looked | undefined> {
  const sink = await createSink(withCollection(choice, collection), log, systemClock);
  try {
    const description = await sink.inspect(signal);
    if (description !== undefined) return { sink, description };
  } catch (error) {
    await sink.close();
    throw error;
  }
  await sink.close();
  return undefined;
}

/** Offsets between the commit of the group and the end of the topic; undefined without a broker. */
export async function lagOf(
  { kafka, config }: Pick<OpenedStore, 'kafka' | 'config'>,
  group: string,
): Promise<bigint | undefined> {
  if (kafka === undefined) return undefined;
  return (await kafka.lag(group, config.kafka.topic)).reduce((sum, { lag }) => sum + lag, 0n);
}
