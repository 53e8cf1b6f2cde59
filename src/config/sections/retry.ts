/** How often a failed chunk is tried again and after how long; and the Redis where it waits, if there is one. */
import { optionalRedisUrl } from '../address-types.ts';
import type { EnvReader } from '../env-reader.ts';
import { path } from '../file-types.ts';
import { choice, integer, text } from '../leaf-types.ts';
import type { Secret } from '../secret.ts';
import { always, unset } from '../setting.ts';
import { sinkSettings } from './sink.ts';

const DAY_MS = 86_400_000;

export const retrySettings = {
  redisUrl: optionalRedisUrl('RAG_SERVING_RETRY_REDIS_URL', {
    doc: 'Redis where chunks wait for their next attempt, so that retries survive the worker. Same form as RAG_SERVING_REDIS_URL; without either, a chunk that is refused in its batch and alone goes to the dead letters.',
    defaultNote: 'RAG_SERVING_REDIS_URL where that is set, else no durable retries',
  }),
  redisCaPath: path('RAG_SERVING_RETRY_REDIS_CA_CERT_PATH', unset, {
    doc: 'PEM file of the authorities that signed the certificate of RAG_SERVING_RETRY_REDIS_URL (rediss:// only).',
    defaultNote:
      'RAG_SERVING_REDIS_CA_CERT_PATH where the URL is taken over too, else the authorities that Node brings',
  }),
  maxAttempts: integer(
    'RAG_SERVING_RETRY_MAX_ATTEMPTS',
    always(5),
    { min: 1, max: 1_000 },
    {
      doc: 'Attempts at a chunk, the first one included, before it goes to the dead letters; 1: no retries. Outages do not count.',
    },
  ),
  baseMs: integer(
    'RAG_SERVING_RETRY_BACKOFF_MS',
    always(5_000),
    { min: 1, max: DAY_MS },
    {
      doc: 'Milliseconds until the first retry, about half of it random; each further one waits twice as long.',
    },
  ),
  maxMs: integer(
    'RAG_SERVING_RETRY_MAX_BACKOFF_MS',
    always(600_000),
    { min: 1, max: DAY_MS },
    {
      doc: 'Longest wait between two attempts, in milliseconds. At least RAG_SERVING_RETRY_BACKOFF_MS.',
    },
  ),
  concurrency: integer(
    'RAG_SERVING_RETRY_CONCURRENCY',
    always(16),
    { min: 1, max: 1_024 },
    { doc: 'Retries of the durable queue that run at once.' },
  ),
  payload: choice('RAG_SERVING_RETRY_PAYLOAD', ['message', 'origin'], always('message'), {
    doc: 'What waits in Redis. message: the Kafka message itself. origin: only where it stands; it is read again from Kafka, so the topic must keep it long enough.',
  }),
  keyPrefix: text(
    'RAG_SERVING_RETRY_KEY_PREFIX',
    always('rag-retry'),
    { doc: 'Beginning of the keys of the retry queue in Redis.' },
    { test: /^[\x21-\x7e]{1,128}$/, says: '1–128 visible ASCII characters without spaces' },
  ),
} as const;

export type DurableRetryConfig = {
  readonly url: Secret;
  readonly caPath: string | undefined;
  readonly concurrency: number;
  readonly payload: 'message' | 'origin';
  readonly keyPrefix: string;
};

export type RetryConfig = {
  /** The first attempt included. */
  readonly maxAttempts: number;
  readonly backoff: { readonly baseMs: number; readonly maxMs: number };
  /** Undefined without a Redis: no retries beyond those of the batch. */
  readonly durable: DurableRetryConfig | undefined;
};

export function readRetry(read: EnvReader): RetryConfig {
  const all = retrySettings;
  const { redisUrl, redisCaPath, maxAttempts, baseMs, maxMs, concurrency, payload, keyPrefix } = read.section(all);
  read.rule(
    maxMs >= baseMs,
    [all.maxMs, all.baseMs],
    `(${maxMs}) is less than ${all.baseMs.name} (${baseMs}); set at least as much`,
  );
  const shared = redisUrl === undefined && read.isSet(sinkSettings.redisUrl);
  const url = shared ? read.read(sinkSettings.redisUrl) : redisUrl;
  const usesTls = url !== undefined && /^rediss:/i.test(url.reveal());
  read.rule(
    redisCaPath === undefined || usesTls,
    [all.redisCaPath, all.redisUrl],
    `is set while ${all.redisUrl.name} is not rediss://; use rediss:// or unset it`,
  );
  if (redisCaPath !== undefined && usesTls) {
    read.tlsFiles(
      { caPath: redisCaPath, certPath: undefined, keyPath: undefined },
      { caPath: all.redisCaPath, certPath: all.redisCaPath, keyPath: all.redisCaPath },
    );
  }
  const caPath = redisCaPath ?? (shared ? read.read(sinkSettings.redisCaPath) : undefined);
  const durable = url === undefined ? undefined : { url, caPath, concurrency, payload, keyPrefix };
  return { maxAttempts, backoff: { baseMs, maxMs }, durable };
}
