/**
 * Ready or not: a pure decision over a snapshot. Ready means running, at least one check registered, and none that
 * fails. A check that cannot be made here (`unknown`) is shown with its reason and does not hold readiness back: which
 * checks may be unknown is the choice of whoever makes them. Alive is another question and has no decision: the process
 * answers.
 */

import type { CheckState } from '../lifecycle/health-states.ts';
import type { Phase } from '../lifecycle/phase.ts';
import type { ReadinessBody } from './answer-schemas.ts';

export type Check = {
  readonly name: string;
  readonly state: CheckState;
  /** Why it does not pass, or what is odd though it does. Holds no user content and no secret. */
  readonly reason: string | undefined;
  /** Since when it has been in this state, in milliseconds since the Unix epoch. */
  readonly sinceMs: number;
};

export type ReadinessSnapshot = { readonly phase: Phase; readonly checks: readonly Check[] };

export type Readiness = { readonly statusCode: 200 | 503; readonly body: ReadinessBody };

export function decideReadiness({ phase, checks }: ReadinessSnapshot): Readiness {
  const ready = phase === 'running' && checks.length > 0 && checks.every(({ state }) => state !== 'fail');
  return {
    statusCode: ready ? 200 : 503,
    body: {
      status: ready ? 'ready' : 'not_ready',
      phase,
      checks: checks.map(({ name, state, reason, sinceMs }) => ({
        name,
        state,
        ok: state !== 'fail',
        ...(reason === undefined ? {} : { reason }),
        since: new Date(sinceMs).toISOString(),
      })),
    },
  };
}

/** Keeps the checks and since when each has been as it is. A check that was never told anything fails. */
export class CheckBoard {
  readonly #checks = new Map<string, Check>();

  constructor(names: readonly string[], nowMs: number) {
    for (const name of names)
      this.#checks.set(name, { name, state: 'fail', reason: 'not checked yet', sinceMs: nowMs });
  }

  pass(name: string, nowMs: number): void {
    this.set(name, 'pass', undefined, nowMs);
  }

  fail(name: string, reason: string, nowMs: number): void {
    this.set(name, 'fail', reason, nowMs);
  }

  fails(name: string): boolean {
    return this.#checks.get(name)?.state === 'fail';
  }

  get checks(): readonly Check[] {
    return [...this.#checks.values()];
  }

  /** True when the state is another than before. */
  set(name: string, state: CheckState, reason: string | undefined, nowMs: number): boolean {
    const before = this.#checks.get(name);
    // A new reason for the same state is no new state: `since` says how long it has not been well.
    const isNew = before?.state !== state;
    this.#checks.set(name, { name, state, reason, sinceMs: isNew ? nowMs : before.sinceMs });
    return isNew;
  }
}
