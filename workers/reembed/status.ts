/** `rag-serving reembed status`: the collections of a base, what each holds, who fills it and how far it is. */
import type { Env } from '../../src/config/env-reader.ts';
import { type ExitCode, exitCodes } from '../exit-codes.ts';
import { table } from '../tool/table.ts';
import { lagOf, look, type Tool, withTool } from './open.ts';
import { groupOf } from './shadow.ts';

export type StatusFlags = { readonly json?: true };

type Line = {
  readonly collection: string;
  readonly role: string;
  /** Null for a collection that is not there. */
  readonly rows: number | null;
  readonly fingerprint: string | null;
  readonly dims: number | null;
  readonly group: string;
  readonly lag: string | null;
  readonly phase: string | null;
  readonly copied: number | null;
  readonly withoutText: number | null;
  readonly refused: number | null;
};

export function runStatus({ json }: StatusFlags, env: Env): Promise<ExitCode> {
  return withTool(env, async (tool, signal) => {
    const { base, changeover } = tool;
    const names = new Set([base, changeover.current, changeover.previous, ...Object.keys(changeover.runs)]);
    const lines: Line[] = [];
    for (const name of names) if (name !== undefined) lines.push(await lineOf(tool, name, signal));
    const { current = base, previous, switchedAtMs } = changeover;
    if (json === true) {
      const at = switchedAtMs === undefined ? null : new Date(switchedAtMs).toISOString();
      const said = { event: 'reembed-status', base, current, previous: previous ?? null, switchedAt: at };
      process.stdout.write(`${JSON.stringify({ ...said, collections: lines })}\n`);
      return exitCodes.done;
    }
    const cells = lines.map((one) => [
      ...[one.collection, one.role, one.rows ?? 'not there', one.fingerprint, one.lag],
      one.phase === null ? null : `${one.phase}${one.copied ? `, ${one.copied} copied` : ''}`,
    ]);
    const head = ['COLLECTION', 'ROLE', 'ROWS', 'FINGERPRINT', 'LAG', 'STATE'];
    process.stdout.write(
      table(
        head,
        cells.map((row) => row.map((cell) => (cell === null ? undefined : String(cell)))),
      ),
    );
    const when = switchedAtMs === undefined ? 'never switched' : `switched ${new Date(switchedAtMs).toISOString()}`;
    process.stdout.write(`readers of ${base} find ${current} (${when})\n`);
    return exitCodes.done;
  });
}

async function lineOf(tool: Tool, collection: string, signal: AbortSignal): Promise<Line> {
  const { changeover, config, base } = tool;
  const there = await look(tool, collection, signal);
  await there?.sink.close();
  const group = groupOf(config.kafka.consumerGroup, collection, changeover);
  const run = changeover.runs[collection];
  const isCurrent = collection === (changeover.current ?? base);
  // Of a topic that is not followed yet the lag says nothing.
  const lag = run?.phase === 'copying' ? undefined : await lagOf(tool, group);
  return {
    collection,
    role: isCurrent ? 'current' : collection === changeover.previous ? 'previous' : run ? 'filling' : 'old',
    rows: there?.description.rows ?? null,
    fingerprint: there?.description.fingerprint ?? null,
    dims: there?.description.dims ?? null,
    group,
    lag: lag === undefined ? null : String(lag),
    phase: run?.phase ?? null,
    copied: run?.copied ?? null,
    withoutText: run?.withoutText ?? null,
    refused: run?.refused ?? null,
  };
}
