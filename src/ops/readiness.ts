/**
 * Ready or not: a pure decision over a snapshot. Ready means running, at least one check registered, and every check
 * passing. Alive is another question and has no decision: the process answers.
 */
import type { Phase } from '../lifecycle/phase.ts';

export type Check = {
  readonly name: string;
  readonly ok: boolean;
  /** Why it is not; undefined while it is. Holds no user content and no secret. */
  readonly reason: string | undefined;
  /** Since when it has been so, in milliseconds since the Unix epoch. */
  readonly sinceMs: number;
};

export type ReadinessSnapshot = { readonly phase: Phase; readonly checks: readonly Check[] };

export type ReadinessBody = {
  readonly status: 'ready' | 'not_ready';
  readonly phase: Phase;
  readonly checks: readonly {
    readonly name: string;
    readonly ok: boolean;
    readonly reason?: string;
    readonly since: string;
  }[];
};

export type Readiness = { readonly statusCode: 200 | 503; readonly body: ReadinessBody };

export function decideReadiness({ phase, checks }: ReadinessSnapshot): Readiness {
  const ready = phase === 'running' && checks.length > 0 && checks.every(({ ok }) => ok);
  return {
    statusCode: ready ? 200 : 503,
    body: {
      status: ready ? 'ready' : 'not_ready',
      phase,
      checks: checks.map(({ name, ok, reason, sinceMs }) => ({
        name,
        ok,
        ...(reason === undefined ? {} : { reason }),
        since: new Date(sinceMs).toISOString(),
      })),
    },
  };
}

/** Keeps the checks and since when each has been as it is. A check that was never told anything is not passing. */
export class CheckBoard {
  readonly #checks = new Map<string, Check>();

  constructor(names: readonly string[], nowMs: number) {
    for (const name of names) this.#checks.set(name, { name, ok: false, reason: 'not checked yet', sinceMs: nowMs });
  }

  pass(name: string, nowMs: number): void {
    this.#set(name, true, undefined, nowMs);
  }

  fail(name: string, reason: string, nowMs: number): void {
    this.#set(name, false, reason, nowMs);
  }

  get checks(): readonly Check[] {
    return [...this.#checks.values()];
  }

  #set(name: string, ok: boolean, reason: string | undefined, nowMs: number): void {
    const before = this.#checks.get(name);
    // A new reason for the same state is no new state: `since` says how long it has not been well.
    const sinceMs = before !== undefined && before.ok === ok ? before.sinceMs : nowMs;
    this.#checks.set(name, { name, ok, reason, sinceMs });
  }
}
