/** The retry queue of the worker of these settings, and the retries in it that are meant. */
import type { Env } from '../../src/config/env-reader.ts';
import { loadTlsMaterial } from '../../src/config/file-types.ts';
import type { DurableRetryConfig } from '../../src/config/sections/retry.ts';
import { type RetriesConfig, readRetriesConfig } from '../../src/config/tool-programs.ts';
import { ServingError } from '../../src/errors.ts';
import { messageIds } from '../../src/kafka/letter.ts';
import { createBullmqRetryAdmin } from '../../src/retry/bullmq-retry-admin.ts';
import type { RetryAdmin, WaitingRetry } from '../../src/retry/retry-admin.ts';
import type { Log } from '../../src/telemetry/log.ts';
import type { ExitCode } from '../exit-codes.ts';
import { isMeant, type LetterFilter } from '../letters/filter.ts';
import { interruptible } from '../tool/interruptible.ts';
import { printWarnings, toolLog } from '../tool/tool-log.ts';
import { collectionOf } from '../worker/retries.ts';

export type NamedRetry = WaitingRetry & {
  /** Undefined also where only the origin of the message was kept. */
  readonly chunkId: string | undefined;
  readonly documentId: string | undefined;
};

const SERVICE = 'rag-serving-retries';
/** Of a record that another version wrote. */
const NOWHERE = { partition: -1, offset: -1n };

export async function withRetries(
  env: Env,
  work: (admin: RetryAdmin, signal: AbortSignal) => Promise<ExitCode>,
): Promise<ExitCode> {
  const config = readRetriesConfig(env);
  printWarnings(config);
  const { durable } = config.retry;
  if (durable === undefined) throw new ServingError('CONFIG_INVALID', 'RAG_SERVING_RETRY_REDIS_URL is unset');
  const log = toolLog(config, SERVICE);
  return interruptible(async (signal) => {
    const admin = openRetryAdmin(config, durable, log);
    try {
      return await work(admin, signal);
    } finally {
      await admin.close();
    }
  });
}

/** Connects in the background. The queue is that of a worker of the same group, topic and store. */
export function openRetryAdmin(
  { kafka: { consumerGroup, topic }, sink }: Pick<RetriesConfig, 'kafka' | 'sink'>,
  { url, caPath, keyPrefix }: DurableRetryConfig,
  log: Log,
): RetryAdmin {
  const { ca } = loadTlsMaterial({ caPath, certPath: undefined, keyPath: undefined });
  return createBullmqRetryAdmin({
    redis: { url: url.reveal(), tlsCa: ca },
    keyPrefix,
    identity: { consumerGroup, topic, collection: collectionOf(sink) },
    log,
  });
}

/** The retries that are meant. With a chunk or document asked for, those of which only the origin was kept are left out. */
export async function* meantRetries(
  admin: RetryAdmin,
  filter: LetterFilter,
  signal: AbortSignal,
): AsyncIterable<NamedRetry> {
  for await (const retry of admin.list(signal)) {
    const ids = retry.message === undefined ? NAMELESS : messageIds(retry.message, retry.index);
    const named = { ...retry, ...ids };
    if (isMeant(filter, { ...named, ...(retry.source ?? NOWHERE) })) yield named;
  }
}

const NAMELESS = { chunkId: undefined, documentId: undefined };
