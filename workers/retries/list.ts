/** `rag-serving retries list`: the chunks that wait for another attempt, as a table or as one JSON object a line. */
import type { Env } from '../../src/config/env-reader.ts';
import { formatPosition } from '../../src/kafka/replay-headers.ts';
import { type ExitCode, exitCodes } from '../exit-codes.ts';
import { type FilterFlags, filterOf } from '../letters/filter-options.ts';
import { formatAge } from '../tool/moment.ts';
import { table } from '../tool/table.ts';
import { meantRetries, type NamedRetry, withRetries } from './open.ts';

export type RetriesListFlags = FilterFlags & { readonly limit?: number; readonly json?: true };

const HEAD = ['ORIGIN', 'STATE', 'DUE IN', 'TRIES', 'CODE', 'STAGE', 'AGE', 'CHUNK'];
/** A table is for eyes. */
const TABLE_LIMIT = 100;

export function runRetriesList(flags: RetriesListFlags, env: Env): Promise<ExitCode> {
  return withRetries(env, async (admin, signal) => {
    const limit = flags.limit ?? (flags.json === true ? Number.POSITIVE_INFINITY : TABLE_LIMIT);
    const rows: (readonly (string | undefined)[])[] = [];
    let listed = 0;
    let more = false;
    for await (const retry of meantRetries(admin, filterOf(flags), signal)) {
      if (listed >= limit) {
        more = true;
        break;
      }
      listed++;
      if (flags.json === true) process.stdout.write(`${JSON.stringify(retryJson(retry))}\n`);
      else rows.push(retryRow(retry, Date.now()));
    }
    if (flags.json === true) return exitCodes.done;
    if (listed > 0) process.stdout.write(table(HEAD, rows));
    const said = `${listed} chunks wait for another attempt`;
    process.stderr.write(more ? `the first ${listed}; there are more: raise --limit, or choose\n` : `${said}\n`);
    return exitCodes.done;
  });
}

export function retryRow(retry: NamedRetry, nowMs: number): readonly (string | undefined)[] {
  const { state, dueAtMs, attempts, code, stage, atMs, chunkId } = retry;
  const due = dueAtMs === undefined ? undefined : formatAge(dueAtMs - nowMs);
  return [place(retry), state, due, String(attempts), code, stage, formatAge(nowMs - atMs), chunkId];
}

export function retryJson(retry: NamedRetry) {
  const { state, dueAtMs, attempts, code, stage, atMs, chunkId, documentId, message, index, source } = retry;
  return {
    origin: source === undefined ? undefined : formatPosition(source),
    index,
    state,
    at: new Date(atMs).toISOString(),
    dueAt: dueAtMs === undefined ? undefined : new Date(dueAtMs).toISOString(),
    attempts,
    code,
    stage,
    chunkId,
    documentId,
    valueBytes: message === undefined ? undefined : (message.value?.byteLength ?? null),
  };
}

function place({ source, index }: NamedRetry): string | undefined {
  if (source === undefined) return undefined;
  return `${formatPosition(source)}${index === undefined ? '' : `[${index}]`}`;
}
