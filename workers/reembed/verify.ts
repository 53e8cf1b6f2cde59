/** `rag-serving reembed verify`: rows of the collection that is read now, looked for in the one that is to take its place. */
import type { Env } from '../../src/config/env-reader.ts';
import { type ExitCode, exitCodes } from '../exit-codes.ts';
import { table } from '../tool/table.ts';
import { factsOf } from './facts.ts';
import { withTool } from './open.ts';

export type VerifyFlags = {
  readonly to: string;
  readonly sample: number;
  readonly all?: true;
  readonly json?: true;
};

export function runVerify({ to, sample, all, json }: VerifyFlags, env: Env): Promise<ExitCode> {
  return withTool(env, async (tool, signal) => {
    const facts = await factsOf(tool, to, all === true ? undefined : sample, signal);
    const { comparison, old, fresh, lag } = facts;
    const wrong = comparison.missing + comparison.older + comparison.foreign + comparison.withoutText;
    if (json === true) {
      const sides = { old: sideOf(old), fresh: sideOf(fresh), lag: lag === undefined ? null : String(lag) };
      process.stdout.write(`${JSON.stringify({ event: 'reembed-verify', to, ...sides, ...comparison })}\n`);
    } else {
      const { compared, same, newer, pending, older, missing, withoutText, foreign } = comparison;
      const rows = [
        ['same revision', same],
        ['newer in the new one', newer],
        ['still to be read from the topic', pending],
        ['older in the new one', older],
        ['missing', missing],
        ['missing, stored without text', withoutText],
        ['of another model', foreign],
      ].map((row) => row.map(String));
      process.stdout.write(table([`OF ${compared} ROWS`, 'ROWS'], rows));
      process.stdout.write(`${old.rows} rows in the old collection, ${fresh.rows} in ${to}\n`);
    }
    return wrong === 0 ? exitCodes.done : exitCodes.failed;
  });
}

function sideOf({ rows, fingerprint }: { readonly rows: number; readonly fingerprint: string }) {
  return { rows, fingerprint };
}
