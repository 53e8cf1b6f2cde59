/**
 * Commands in pipelines, each reply looked at.
 *
 * Surprising: a pipeline "succeeds" whatever its commands answer. Here a fault of the store (out of memory, no
 * connection, no rights) rejects the whole call, even if some rows went in, because the retry is idempotent; a fault of
 * one key (WRONGTYPE) stays with its row. A script answers one value a row: a number, or the text of the row's error.
 */
import type { ChainableCommander } from 'ioredis';
import { ServingError } from '../../errors.ts';
import type { RowOutcome } from '../sink.ts';
import type { RedisConnection } from './connection.ts';
import { isNoScript, replyError, translateRedisError } from './errors.ts';
import type { RedisScript } from './script.ts';

export type ScriptCall = {
  readonly script: RedisScript;
  /** Rows or deletions in this call. */
  readonly rows: number;
  readonly keys: readonly string[];
  readonly args: readonly (string | Buffer)[];
};

type Reply = readonly [error: Error | null, value: unknown];

/** More commands at once gain nothing and hold more memory. */
const CALLS_PER_PIPELINE = 512;

export async function loadScripts(connection: RedisConnection, scripts: Iterable<RedisScript>): Promise<void> {
  const pipeline = connection.client.pipeline();
  for (const { lua } of scripts) pipeline.script('LOAD', lua);
  await repliesOf(pipeline, connection, 'loading scripts');
}

/** Outcomes of scripts that answer 1 for done and 0 for superseded, in order of the calls and their rows. */
export async function runScripts(
  connection: RedisConnection,
  what: string,
  calls: readonly ScriptCall[],
): Promise<RowOutcome[]> {
  const outcomes: RowOutcome[] = [];
  for (let at = 0; at < calls.length; at += CALLS_PER_PIPELINE) {
    const slice = calls.slice(at, at + CALLS_PER_PIPELINE);
    let replies = await sendScripts(connection, slice);
    if (replies.some(([error]) => isNoScript(error))) {
      // SCRIPT FLUSH, or a restart that went unnoticed. Running the others once more changes nothing.
      await loadScripts(connection, new Set(slice.map(({ script }) => script)));
      replies = await sendScripts(connection, slice);
    }
    outcomes.push(...outcomesOf(slice, replies, connection, what));
  }
  return outcomes;
}

/** Values of a pipeline of reads; the first error rejects. */
export async function repliesOf(
  pipeline: ChainableCommander,
  connection: RedisConnection,
  what: string,
): Promise<unknown[]> {
  const replies = ((await pipeline.exec()) ?? []) as Reply[];
  return replies.map(([error, value]) => {
    if (error !== null) throw translateRedisError(error, what, connection.server);
    return value;
  });
}

async function sendScripts(connection: RedisConnection, calls: readonly ScriptCall[]): Promise<Reply[]> {
  const pipeline = connection.client.pipeline();
  for (const { script, keys, args } of calls) pipeline.evalsha(script.sha, keys.length, ...keys, ...args);
  return ((await pipeline.exec()) ?? []) as Reply[];
}

function outcomesOf(
  calls: readonly ScriptCall[],
  replies: readonly Reply[],
  connection: RedisConnection,
  what: string,
): RowOutcome[] {
  const outcomes: RowOutcome[] = [];
  const faults: ServingError[] = [];
  const answers = calls.flatMap(({ rows }, index) => answersOf(replies[index]!, rows));
  for (const answer of answers) {
    if (typeof answer === 'number') {
      outcomes.push({ kind: answer === 0 ? 'superseded' : 'stored' });
      continue;
    }
    const translated = translateRedisError(answer, what, connection.server);
    if (translated.failureClass === 'chunk') outcomes.push({ kind: 'refused', error: translated });
    else faults.push(translated);
  }
  const worst = faults.find((fault) => fault.failureClass === 'fatal') ?? faults[0];
  if (worst === undefined) return outcomes;
  throw new ServingError(worst.code, worst.message, {
    cause: worst.cause,
    details: { failed: faults.length, acknowledged: outcomes.length },
  });
}

/** One answer a row: what became of it, or its error. */
function answersOf([error, value]: Reply, rows: number): (number | Error)[] {
  if (error !== null) return Array.from({ length: rows }, () => error);
  const answers = (Array.isArray(value) ? value : [value]) as (number | string)[];
  return answers.map((answer) => (typeof answer === 'string' ? replyError(answer) : answer));
}
