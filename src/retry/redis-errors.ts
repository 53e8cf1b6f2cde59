/**
 * What Redis, ioredis and BullMQ throw at the retry queue, as ServingErrors. Anything unknown is an outage: it loses nothing.
 *
 * Surprising: ioredis hangs the failed command with its arguments (the message, the password) on the error, so the cause
 * kept here names the code only. Before Redis 7 the code of an error inside a script stands in the middle of its message.
 */
import { retrySettings } from '../config/sections/retry.ts';
import { type ErrorCode, ServingError } from '../errors.ts';
import { errorLabel } from '../sinks/redis/errors.ts';

const URL_SETTING = retrySettings.redisUrl.name;

const REPLIES: Readonly<Record<string, { readonly code: ErrorCode; readonly advice: string }>> = {
  OOM: { code: 'RETRY_QUEUE_FULL', advice: 'it is at its maxmemory: enlarge it' },
  READONLY: { code: 'RETRY_QUEUE_UNAVAILABLE', advice: 'it is a read-only replica' },
  MISCONF: { code: 'RETRY_QUEUE_UNAVAILABLE', advice: 'it cannot write its snapshot or log to disk' },
  NOAUTH: { code: 'RETRY_QUEUE_ACCESS_DENIED', advice: `it wants a password: put one into ${URL_SETTING}` },
  WRONGPASS: { code: 'RETRY_QUEUE_ACCESS_DENIED', advice: `it refuses the user or password of ${URL_SETTING}` },
  NOPERM: { code: 'RETRY_QUEUE_ACCESS_DENIED', advice: `the user of ${URL_SETTING} may not do this` },
  MOVED: { code: 'CONFIG_INVALID', advice: 'it is a Redis Cluster, which the retry queue does not support' },
  CROSSSLOT: { code: 'CONFIG_INVALID', advice: 'it is a Redis Cluster, which the retry queue does not support' },
};

/** @param server host:port, for the message */
export function retryError(error: unknown, doing: string, server: string): ServingError {
  if (error instanceof ServingError) return error;
  const label = labelOf(error);
  const cause = new Error(label);
  const reply = REPLIES[label];
  if (reply !== undefined) {
    return new ServingError(reply.code, `cannot ${doing}: Redis at ${server} answers ${label}: ${reply.advice}`, {
      cause,
    });
  }
  return new ServingError(
    'RETRY_QUEUE_UNAVAILABLE',
    `cannot ${doing}: no answer of use from Redis at ${server}: ${label}`,
    {
      cause,
    },
  );
}

/** Redis's error code, the system's, or the name of the error. */
export function labelOf(error: unknown): string {
  const label = errorLabel(error);
  if (label !== 'ERR' || !(error instanceof Error)) return label;
  return /-(OOM|READONLY|MISCONF|NOPERM)\b/.exec(error.message)?.[1] ?? label;
}

/** True for what no waiting heals. */
export function isHopeless(error: unknown): boolean {
  const code = REPLIES[labelOf(error)]?.code;
  return code === 'RETRY_QUEUE_ACCESS_DENIED' || code === 'CONFIG_INVALID';
}

/** BullMQ's word for a job that is no longer ours: removed, or its lock ran out and another worker has it. */
export function isLostJob(error: unknown): boolean {
  const code: unknown = error instanceof Error && 'code' in error ? error.code : undefined;
  return typeof code === 'number' && code < 0;
}
