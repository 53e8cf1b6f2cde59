/**
 * A sink from outside, held to the promises of the port where that can be done from here: each call ends, an error is one
 * of ours, and there is one outcome a row.
 *
 * Surprising: the module may have another copy of this package, so its errors are known by name and code, not by class.
 */
import { type ErrorCode, errorCodes, ServingError } from '../../errors.ts';
import { bounded, throwIfAborted } from '../bounded.ts';
import type { RowOutcome, Sink } from '../sink.ts';

const CLOSE_TIMEOUT_MS = 5_000;
const KINDS: ReadonlySet<string> = new Set<RowOutcome['kind']>(['stored', 'superseded', 'refused']);

export function guarded(inner: Sink, callTimeoutMs: number): Sink {
  const { name } = inner;
  const call = async <T>(what: string, work: () => Promise<T>, signal?: AbortSignal): Promise<T> => {
    throwIfAborted(signal, `${name} ${what}`);
    try {
      return await bounded((async () => work())(), callTimeoutMs, `${name} ${what}`, signal);
    } catch (cause) {
      throw ownError(cause) ?? new ServingError('SINK_UNAVAILABLE', `${name} ${what} failed`, { cause });
    }
  };
  const change = async (
    what: string,
    length: number,
    work: () => Promise<readonly RowOutcome[]>,
    signal?: AbortSignal,
  ) => checkOutcomes(name, what, length, await call(what, work, signal));
  return {
    name,
    open: (contract, signal) => call('open', () => inner.open(contract, signal), signal),
    inspect: (signal) => call('inspect', () => inner.inspect(signal), signal),
    write: (rows, signal) => change('write', rows.length, () => inner.write(rows, signal), signal),
    remove: (deletions, signal) => change('remove', deletions.length, () => inner.remove(deletions, signal), signal),
    ping: (signal) => call('ping', () => inner.ping(signal), signal),
    count: (signal) => call('count', () => inner.count(signal), signal),
    search: (vector, limit, signal) => call('search', () => inner.search(vector, limit, signal), signal),
    fetch: (chunkIds, signal) => call('fetch', () => inner.fetch(chunkIds, signal), signal),
    ...(inner.scan && {
      scan: (after: string | undefined, limit: number, signal?: AbortSignal) =>
        call('scan', async () => inner.scan!(after, limit, signal), signal),
    }),
    close: () => bounded((async () => inner.close())(), CLOSE_TIMEOUT_MS, `closing ${name}`),
  };
}

/** An error of this package, whichever copy of it made it. */
export function ownError(error: unknown): ServingError | undefined {
  if (error instanceof ServingError) return error;
  if (!(error instanceof Error) || error.name !== 'ServingError') return undefined;
  const { code, details } = error as Error & { code?: unknown; details?: unknown };
  if (!(errorCodes as readonly unknown[]).includes(code)) return undefined;
  return new ServingError(code as ErrorCode, error.message, {
    cause: error.cause,
    details: typeof details === 'object' && details !== null ? { ...details } : {},
  });
}

/** A row without an answer must not count as stored: the whole call fails, and for good, because the code is wrong. */
function checkOutcomes(
  name: string,
  what: string,
  length: number,
  outcomes: readonly RowOutcome[],
): readonly RowOutcome[] {
  const isWhole = Array.isArray(outcomes) && outcomes.length === length;
  if (!isWhole || !outcomes.every((outcome) => KINDS.has(outcome?.kind))) {
    const got = Array.isArray(outcomes) ? `${outcomes.length} outcomes, or some that are none` : typeof outcomes;
    throw new ServingError('INTERNAL', `${name} ${what} answered ${got} for ${length} rows: it must give one of each`);
  }
  return outcomes.map((outcome) => {
    if (outcome.kind !== 'refused') return outcome;
    const error = ownError(outcome.error) ?? new ServingError('SINK_ROW_REFUSED', `${name} refuses the row`);
    return { kind: 'refused', error };
  });
}
