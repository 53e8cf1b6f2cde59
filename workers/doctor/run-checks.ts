/**
 * Checks run side by side, each with a limit of its own, those that need another one after it.
 * A check that does not heed its signal is left behind at its limit: a host that never answers holds nobody up.
 */
import { isServingError } from '../../src/errors.ts';
import type { Check, Outcome } from './check.ts';

export type Checked = { readonly name: string; readonly group: string; readonly outcome: Outcome };

export async function runChecks(
  checks: readonly Check[],
  timeoutMs: number,
  signal: AbortSignal,
): Promise<readonly Checked[]> {
  const running = new Map<string, Promise<Outcome>>();
  for (const check of checks) running.set(check.name, inTurn(check, running, timeoutMs, signal));
  return Promise.all(
    checks.map(async ({ name, group }) => ({ name, group, outcome: (await running.get(name)) as Outcome })),
  );
}

async function inTurn(
  check: Check,
  earlier: ReadonlyMap<string, Promise<Outcome>>,
  timeoutMs: number,
  signal: AbortSignal,
): Promise<Outcome> {
  const needed = check.after.map((name) => ({ name, outcome: earlier.get(name) }));
  for (const { name, outcome } of needed) {
    const kind = (await outcome)?.kind ?? 'skipped';
    if (kind === 'fail') return { kind: 'skipped', why: `${name} failed` };
    if (kind === 'skipped') return { kind: 'skipped', why: `${name} was not checked` };
  }
  return bounded(check, timeoutMs, signal);
}

async function bounded(check: Check, timeoutMs: number, signal: AbortSignal): Promise<Outcome> {
  signal.throwIfAborted();
  const over = new AbortController();
  const limit = AbortSignal.any([signal, over.signal]);
  let onLimit = () => {};
  const ended = new Promise<'ended'>((resolve) => {
    onLimit = () => resolve('ended');
    limit.addEventListener('abort', onLimit, { once: true });
  });
  const timer = setTimeout(() => over.abort(), timeoutMs);
  try {
    const outcome = await Promise.race([check.look(limit).catch(failed), ended]);
    signal.throwIfAborted();
    if (outcome !== 'ended' && !limit.aborted) return outcome;
    return {
      kind: 'fail',
      found: `no answer within ${timeoutMs} ms`,
      remedy: 'see that it is reachable, or raise --timeout',
    };
  } finally {
    clearTimeout(timer);
    limit.removeEventListener('abort', onLimit);
  }
}

/** Only our own messages are shown: those of a library may hold a secret. */
function failed(error: unknown): Outcome {
  const found = isServingError(error)
    ? `${error.code}: ${error.message}`
    : `unexpected ${(error as Error)?.name ?? typeof error}`;
  return { kind: 'fail', found, remedy: 'do what the message says, then run the check again' };
}
