/**
 * The run states of a process and the only moves between them.
 *
 * starting: not ready, may fail or be told to stop. running: ready when its checks are. draining: no new work, what is
 * in flight ends. stopped and failed are ends. The first fatal error is the one that counts; later ones change nothing.
 */
import { ServingError } from '../errors.ts';

export const phases = ['starting', 'running', 'draining', 'stopped', 'failed'] as const;
export type Phase = (typeof phases)[number];

const MOVES = {
  starting: ['running', 'draining', 'failed'],
  running: ['draining', 'failed'],
  draining: ['stopped', 'failed'],
  stopped: [],
  failed: [],
} as const satisfies Record<Phase, readonly Phase[]>;

export function canMove(from: Phase, to: Phase): boolean {
  return (MOVES[from] as readonly Phase[]).includes(to);
}

export type PhaseChange = { readonly from: Phase; readonly to: Phase; readonly atMs: number };

export class PhaseTracker {
  readonly #onChange: (change: PhaseChange) => void;
  #current: Phase = 'starting';
  #sinceMs: number;
  #failure: unknown;

  constructor(nowMs: number, onChange: (change: PhaseChange) => void = () => {}) {
    this.#sinceMs = nowMs;
    this.#onChange = onChange;
  }

  get current(): Phase {
    return this.#current;
  }

  get sinceMs(): number {
    return this.#sinceMs;
  }

  /** The first fatal error; undefined unless failed. */
  get failure(): unknown {
    return this.#failure;
  }

  /** False when the process is there already; throws on a move that is not in the table. */
  move(to: Exclude<Phase, 'failed'>, nowMs: number): boolean {
    if (to === this.#current) return false;
    if (!canMove(this.#current, to)) {
      throw new ServingError('INTERNAL', `a process that is ${this.#current} cannot become ${to}`);
    }
    this.#set(to, nowMs);
    return true;
  }

  /** False when the process has ended already: the first end stands. */
  fail(error: unknown, nowMs: number): boolean {
    if (!canMove(this.#current, 'failed')) return false;
    this.#failure = error;
    this.#set('failed', nowMs);
    return true;
  }

  #set(to: Phase, nowMs: number): void {
    const change = { from: this.#current, to, atMs: nowMs };
    this.#current = to;
    this.#sinceMs = nowMs;
    this.#onChange(change);
  }
}
