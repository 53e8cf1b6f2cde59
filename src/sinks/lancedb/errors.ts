/**
 * LanceDB's errors as ours.
 *
 * LanceDB gives every error the same code, GenericFailure; the number of the operating system's error and the status of an
 * object store inside the text are the parts that do not change from release to release, so only those are read.
 * Everything unknown is an outage: the rows were checked before, so it cannot be their fault, and an outage loses nothing.
 *
 * Surprising: the text holds the whole answer of an object store, the key id and what was signed included. So the cause
 * is kept for folders alone.
 */
import { ServingError } from '../../errors.ts';
import { schemeOf } from './object-store.ts';

const ENOENT = 2;
const EACCES = 13;
const ENOTDIR = 20;
const ENOSPC = 28;
const EROFS = 30;
const EDQUOT = 122;
const EPERM = 1;

const OS_NUMBERS: Readonly<Record<string, number>> = {
  EPERM,
  ENOENT,
  EACCES,
  EEXIST: ENOTDIR,
  ENOTDIR,
  ENOSPC,
  EROFS,
  EDQUOT,
};

/** @param where the folder or address, without credentials */
export function translateLanceDbError(cause: unknown, what: string, where: string): ServingError {
  if (cause instanceof ServingError) return cause;
  if (schemeOf(where) !== undefined) return objectStoreError(cause, what, where);
  switch (osError(cause)) {
    case ENOSPC:
    case EDQUOT:
      return new ServingError('SINK_FULL', `${what}: no space left at ${where}: free some or enlarge the volume`, {
        cause,
      });
    case EACCES:
    case EPERM:
    case EROFS:
      return new ServingError('SINK_ACCESS_DENIED', `${what}: ${where} is not writable (RAG_SERVING_LANCEDB_PATH)`, {
        cause,
      });
    case ENOTDIR:
      return new ServingError(
        'CONFIG_INVALID',
        `${what}: ${where} is not a folder, or leads through a file: RAG_SERVING_LANCEDB_PATH must name a folder`,
        { cause },
      );
    case ENOENT:
      return new ServingError('SINK_UNAVAILABLE', `${what}: something is missing at ${where}; was it removed?`, {
        cause,
      });
    default:
      return new ServingError('SINK_UNAVAILABLE', `${what}: LanceDB at ${where} failed`, { cause });
  }
}

/** Two commits met, and this one was too late; nothing of it counts. */
export function isCommitConflict(error: unknown): boolean {
  return (
    error instanceof Error && /commit conflict|concurrent(?:ly)? (?:commit|transaction|modif)/i.test(error.message)
  );
}

function objectStoreError(error: unknown, what: string, where: string): ServingError {
  const text = error instanceof Error ? error.message : '';
  const status = Number(/(?:status code: |status: )(\d{3})/.exec(text)?.[1] ?? Number.NaN);
  const code = /<Code>([A-Za-z0-9]{1,64})<\/Code>/.exec(text)?.[1];
  const details = { ...(Number.isNaN(status) ? {} : { status }), ...(code === undefined ? {} : { storeCode: code }) };
  const said = code === undefined ? '' : ` (${code})`;
  if (/NoSuchBucket|ContainerNotFound|bucket does not exist/i.test(text)) {
    return new ServingError(
      'CONFIG_INVALID',
      `${what}: the bucket of ${where} does not exist${said}: make it, or name another in RAG_SERVING_LANCEDB_PATH`,
      { details },
    );
  }
  if (/CredentialsNotLoaded|no providers in chain|Failed to get \w+ credentials/i.test(text)) {
    return new ServingError(
      'SINK_ACCESS_DENIED',
      `${what}: no credentials for ${where}: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or give the pod or machine a role`,
      { details },
    );
  }
  if (status === 401 || status === 403 || /ExpiredToken|InvalidToken|InvalidAccessKeyId/.test(text)) {
    return new ServingError(
      'SINK_ACCESS_DENIED',
      `${what}: the store of ${where} refuses the key or its rights${said}: it needs list, get, put and delete of objects under that folder`,
      { details },
    );
  }
  if (status === 507 || /QuotaExceeded|StorageFull/i.test(text)) {
    return new ServingError('SINK_FULL', `${what}: the store of ${where} is full${said}`, { details });
  }
  const why = /error sending request|tcp connect|timed? ?out|dns error/i.test(text)
    ? 'does not answer (AWS_ENDPOINT_URL, network)'
    : Number.isNaN(status)
      ? 'failed'
      : `answers ${status}${said}`;
  return new ServingError('SINK_UNAVAILABLE', `${what}: the store of ${where} ${why}`, { details });
}

/** Number of the operating system's error, from Node's own errors or from LanceDB's text. */
function osError(error: unknown): number | undefined {
  if (!(error instanceof Error)) return undefined;
  const code = (error as NodeJS.ErrnoException).code;
  if (code !== undefined && code in OS_NUMBERS) return OS_NUMBERS[code];
  const match = /\(os error (\d+)\)/.exec(error.message);
  return match === null ? undefined : Number(match[1]);
}
