/**
 * Checks run side by side, each with a limit of its own, those that need another one after it.
 *
 * A check that does not heed its signal is left behind at its limit: a host that never answers holds nobody up. One that does
 * is given a moment first, so that what it put somewhere is gone before the process is.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { asServingError } from '../../src/errors.ts';
import { type Check, fail, type Outcome, skipped } from './check.ts';
import { failureOf } from './remedies.ts';

export type Checked = { readonly name: string; readonly group: string; readonly outcome: Outcome };

export type Limits = {
  readonly timeoutMs: number;
  /** For what a check cleans up when it was stopped. */
  readonly graceMs: number;
};

export async function runChecks(
  checks: readonly Check[],
  limits: Limits,
  signal: AbortSignal,
): Promise<readonly Checked[]> {
  refuseUnknown(checks);
  const running = new Map<string, Promise<Outcome>>();
  for (const check of checks) running.set(check.name, inTurn(check, running, limits, signal));
  // All of them, also when it was interrupted: each may have something to take back.
  await Promise.allSettled(running.values());
  return Promise.all(
    checks.map(async ({ name, group }) => ({ name, group, outcome: (await running.get(name)) as Outcome })),
  );
}

function refuseUnknown(checks: readonly Check[]): void {
  const before = new Set<string>();
  for (const { name, after } of checks) {
    const missing = after.find((needed) => !before.has(needed));
    if (missing !== undefined) throw new Error(`check ${name} comes after ${missing}, which is not before it`);
    before.add(name);
  }
}

async function inTurn(
  check: Check,
  earlier: ReadonlyMap<string, Promise<Outcome>>,
  limits: Limits,
  signal: AbortSignal,
): Promise<Outcome> {
  const needed = check.after.map((name) => ({ name, outcome: earlier.get(name) }));
  for (const { name, outcome } of needed) {
    const kind = (await outcome)?.kind;
    if (kind === 'fail') return skipped(`${name} failed`);
    if (kind === 'skipped') return skipped(`${name} was not checked`);
  }
  return bounded(check, limits, signal);
}

async function bounded(check: Check, { timeoutMs, graceMs }: Limits, signal: AbortSignal): Promise<Outcome> {
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
    const looking = check.look(limit).catch((error: unknown) => failureOf(asServingError(error)));
    const outcome = await Promise.race([looking, ended]);
    if (outcome === 'ended') await Promise.race([looking, sleep(graceMs, undefined, { ref: false })]);
    signal.throwIfAborted();
    if (outcome !== 'ended' && !limit.aborted) return outcome;
    return fail(`no answer within ${timeoutMs} ms`, 'see that it is reachable and not wedged, or raise --timeout');
  } finally {
    clearTimeout(timer);
    limit.removeEventListener('abort', onLimit);
  }
}
