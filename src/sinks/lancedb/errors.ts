/**
 * LanceDB's errors as ours.
 *
 * LanceDB gives every error the same code, GenericFailure; the number of the operating system's error inside the text is
 * the one part that does not change from release to release, so only that is read. Everything unknown is an outage: the
 * rows were checked before, so it cannot be their fault, and an outage loses nothing.
 */
import { ServingError } from '../../errors.ts';

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

/** Number of the operating system's error, from Node's own errors or from LanceDB's text. */
function osError(error: unknown): number | undefined {
  if (!(error instanceof Error)) return undefined;
  const code = (error as NodeJS.ErrnoException).code;
  if (code !== undefined && code in OS_NUMBERS) return OS_NUMBERS[code];
  const match = /\(os error (\d+)\)/.exec(error.message);
  return match === null ? undefined : Number(match[1]);
}
