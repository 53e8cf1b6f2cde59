/**
 * Redis and connection errors as ours, by the first word of Redis's answer, which is its error code.
 *
 * Surprising: ioredis hangs the failed command with all its arguments on the error (for AUTH, the password; for a write,
 * the text), and Redis quotes arguments in some messages. So the cause kept here is a new error that names the code only.
 */
import { type ErrorCode, ServingError } from '../../errors.ts';

/** Redis answers with one of these; what they ask of us. Anything else is an outage: it loses nothing. */
const REPLY_CODES: Readonly<Record<string, { readonly code: ErrorCode; readonly advice: string }>> = {
  WRONGTYPE: { code: 'SINK_ROW_REFUSED', advice: 'a key of this row holds another type of value' },
  OOM: { code: 'SINK_FULL', advice: 'it is at its maxmemory: enlarge it or delete rows' },
  MISCONF: { code: 'SINK_UNAVAILABLE', advice: 'it cannot write its snapshot or log to disk' },
  NOAUTH: { code: 'SINK_ACCESS_DENIED', advice: 'it wants a password: put one into RAG_SERVING_REDIS_URL' },
  WRONGPASS: { code: 'SINK_ACCESS_DENIED', advice: 'it refuses the user or password of RAG_SERVING_REDIS_URL' },
  NOPERM: { code: 'SINK_ACCESS_DENIED', advice: 'the user of RAG_SERVING_REDIS_URL may not do this' },
  READONLY: { code: 'SINK_UNAVAILABLE', advice: 'it is a read-only replica' },
  LOADING: { code: 'SINK_UNAVAILABLE', advice: 'it is still loading its data' },
  BUSY: { code: 'SINK_UNAVAILABLE', advice: 'a script of someone else keeps it busy' },
  MASTERDOWN: { code: 'SINK_UNAVAILABLE', advice: 'it has lost its primary' },
  CLUSTERDOWN: { code: 'SINK_UNAVAILABLE', advice: 'its cluster is down' },
  MOVED: { code: 'CONFIG_INVALID', advice: 'it is a Redis Cluster, which this sink does not support' },
  CROSSSLOT: { code: 'CONFIG_INVALID', advice: 'it is a Redis Cluster, which this sink does not support' },
};

/** @param server host:port, for the message */
export function translateRedisError(error: unknown, what: string, server: string): ServingError {
  if (error instanceof ServingError) return error;
  const label = errorLabel(error);
  const reply = REPLY_CODES[label];
  const cause = new Error(label);
  if (reply !== undefined) {
    return new ServingError(reply.code, `${what}: Redis at ${server} answers ${label}: ${reply.advice}`, { cause });
  }
  const verb = isReply(error) ? 'answers' : 'cannot be reached or does not answer in time:';
  return new ServingError('SINK_UNAVAILABLE', `${what}: Redis at ${server} ${verb} ${label}`, { cause });
}

export function isNoScript(error: unknown): boolean {
  return errorLabel(error) === 'NOSCRIPT';
}

/** True for what no waiting heals, so that start-up need not wait for its time limit. */
export function isHopeless(error: unknown): boolean {
  const code = REPLY_CODES[errorLabel(error)]?.code;
  return code === 'SINK_ACCESS_DENIED' || code === 'CONFIG_INVALID';
}

/** Redis's error code, the system's error code, or the name of the error. */
export function errorLabel(error: unknown): string {
  if (!(error instanceof Error)) return typeof error;
  const code = (error as NodeJS.ErrnoException).code;
  if (typeof code === 'string') return code;
  if (isReply(error)) return /^[A-Z]+/.exec(error.message)?.[0] ?? 'ERR';
  if (error.message === 'Command timed out') return 'TIMEOUT';
  return error.name === 'Error' ? 'NOT_CONNECTED' : error.name;
}

/** An error that a script caught for one row and gave back as its text; some servers put the protocol's dash before it. */
export function replyError(text: string): Error {
  return Object.assign(new Error(text.replace(/^-/, '')), { name: 'ReplyError' });
}

function isReply(error: unknown): boolean {
  return error instanceof Error && error.name === 'ReplyError';
}
