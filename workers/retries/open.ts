/** The retry queue of the worker of these settings, and the retries in it that are meant. */
import type { Env } from '../../src/config/env-reader.ts';
import { loadTlsMaterial } from '../../src/config/file-types.ts';
import { readRetriesConfig } from '../../src/config/programs.ts';
import { ServingError } from '../../src/errors.ts';
import { messageIds } from '../../src/kafka/letter.ts';
import { createBullmqRetryAdmin } from '../../src/retry/bullmq-retry-admin.ts';
import type { RetryAdmin, WaitingRetry } from '../../src/retry/retry-admin.ts';
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
  const { kafka, sink, retry } = config;
  const { durable } = retry;
  if (durable === undefined) throw new ServingError('CONFIG_INVALID', 'RAG_SERVING_RETRY_REDIS_URL is unset');
  const log = toolLog(config, SERVICE);
  const { ca } = loadTlsMaterial({ caPath: durable.caPath, certPath: undefined, keyPath: undefined });
  const { consumerGroup, topic } = kafka;
  return interruptible(async (signal) => {
    const admin = createBullmqRetryAdmin({
      redis: { url: durable.url.reveal(), tlsCa: ca },
      keyPrefix: durable.keyPrefix,
      identity: { consumerGroup, topic, collection: collectionOf(sink) },
      log,
    });
    try {
      return await work(admin, signal);
    } finally {
      await admin.close();
    }
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
