/** Whether the readers may be switched to a collection: each question with its answer, and what to do where it is no. Pure. */
import type { Run } from '../../src/sinks/changeover.ts';
import type { Comparison } from './compare.ts';

export type Finding = { readonly check: string; readonly ok: boolean; readonly says: string };

export type Facts = {
  readonly to: string;
  readonly run: Run | undefined;
  readonly old: { readonly fingerprint: string; readonly rows: number };
  readonly fresh: { readonly fingerprint: string; readonly rows: number };
  /** Undefined where no broker is named. */
  readonly lag: bigint | undefined;
  readonly comparison: Comparison;
};

export type Limits = {
  /** Share of rows that may be missing, 0 to 1. */
  readonly tolerance: number;
  readonly maxLag: number;
};

export function judge(
  { to, run, old, fresh, lag, comparison }: Facts,
  { tolerance, maxLag }: Limits,
): readonly Finding[] {
  const least = Math.ceil(old.rows * (1 - tolerance));
  const { compared, missing, older, foreign, withoutText } = comparison;
  const wrong = missing + older + foreign + withoutText;
  const copying = run?.phase === 'copying';
  return [
    {
      check: 'record',
      ok: run !== undefined && !copying,
      says:
        run === undefined
          ? `no reembed of this name wrote ${to}: fill it with rag-serving reembed start --to ${to}`
          : copying
            ? 'stored text is still being copied: let reembed start go on until it follows the topic'
            : `filled from ${run.from}`,
    },
    {
      check: 'fingerprint',
      ok: fresh.fingerprint !== old.fingerprint && (run === undefined || run.fingerprint === fresh.fingerprint),
      says:
        fresh.fingerprint === old.fingerprint
          ? `both hold vectors of ${old.fingerprint}: the model has not changed`
          : `${old.fingerprint} -> ${fresh.fingerprint}`,
    },
    {
      check: 'rows',
      ok: fresh.rows >= least && (fresh.rows > 0 || old.rows === 0),
      says: `${fresh.rows} of ${old.rows}${fresh.rows >= least ? '' : `, at least ${least} are wanted: let reembed start catch up, or see reembed verify for what is missing`}`,
    },
    {
      check: 'lag',
      ok: lag === undefined || lag <= BigInt(maxLag),
      says:
        lag === undefined
          ? 'not asked: KAFKA_BOOTSTRAP_SERVERS is unset'
          : `${lag} records${lag <= BigInt(maxLag) ? '' : `, at most ${maxLag} are wanted: wait, or run more workers in its group`}`,
    },
    {
      check: 'sample',
      ok: wrong <= compared * tolerance,
      says: `${compared} rows compared: ${missing} missing, ${older} older, ${foreign} of another model, ${withoutText} without text`,
    },
  ];
}
