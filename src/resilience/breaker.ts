/**
 * Circuit breaker: after several failures in a row, or too many among the last calls, calls are not even tried for a while,
 * then one is (the probe), and its end decides. Pure: whoever calls brings the time and the random number.
 *
 * Each call takes a ticket and gives it back with how it ended. A ticket belongs to the state that gave it: the end of a
 * call that began before the breaker opened says nothing about now and changes nothing.
 */
import { type BackoffPolicy, backoffMs } from './backoff.ts';

export type BreakerPolicy = {
  /** Failures in a row that open it. */
  readonly failuresToOpen: number;
  /** …if the first and the last of them lie so far apart: with a thousand calls a second, five in a row are a blink. 0 unless given. */
  readonly spanMs?: number;
  /** Opens it as well: so great a share (0…1) of the last `of` calls failed, in whatever order. Not asked before there were so many. */
  readonly rolling?: { readonly of: number; readonly share: number };
  /** How long it stays open; longer each time that a probe fails. */
  readonly open: BackoffPolicy;
};

export const defaultBreakerPolicy: BreakerPolicy = { failuresToOpen: 5, open: { baseMs: 500, maxMs: 5_000 } };

export const breakerStates = ['closed', 'half-open', 'open'] as const;
export type BreakerStateName = (typeof breakerStates)[number];

type State =
  | { readonly kind: 'closed'; failures: number; firstFailureMs: number; readonly last: LastCalls | undefined }
  | { readonly kind: 'open'; readonly untilMs: number; readonly round: number }
  | { readonly kind: 'half-open'; readonly round: number; probing: boolean };

/** The states that let calls through. */
type Admitting = Exclude<State, { kind: 'open' }>;

/** `failed`: the other side was away, or gave no answer. `ignored`: says nothing about it, such as a call that its caller ended. */
export type BreakerTicket = {
  succeeded(): void;
  /** @param random in [0, 1) */
  failed(nowMs: number, random: number): void;
  ignored(): void;
};

export class Breaker {
  readonly #policy: BreakerPolicy;
  readonly #onChange: (state: BreakerStateName) => void;
  #state: State;

  constructor(policy: BreakerPolicy = defaultBreakerPolicy, onChange: (state: BreakerStateName) => void = () => {}) {
    this.#policy = policy;
    this.#onChange = onChange;
    this.#state = this.#closed();
  }

  get state(): BreakerStateName {
    return this.#state.kind;
  }

  /** Undefined when the call must not be made now. */
  enter(nowMs: number): BreakerTicket | undefined {
    if (this.#state.kind === 'open' && nowMs >= this.#state.untilMs) {
      this.#move({ kind: 'half-open', round: this.#state.round, probing: false });
    }
    const state = this.#state;
    if (state.kind === 'open') return undefined;
    if (state.kind === 'half-open') {
      if (state.probing) return undefined;
      state.probing = true;
    }
    return new Ticket(this, state);
  }

  /** Milliseconds until a call is worth trying; 0 when one is now. While a probe is out, as long as the breaker was open for. */
  retryInMs(nowMs: number): number {
    const state = this.#state;
    if (state.kind === 'open') return Math.max(0, state.untilMs - nowMs);
    return state.kind === 'half-open' && state.probing ? this.#policy.open.baseMs : 0;
  }

  /** Something else has shown that the other side is back: the next call tries at once. */
  signOfLife(): void {
    if (this.#state.kind === 'open') this.#move({ kind: 'half-open', round: this.#state.round, probing: false });
  }

  /** @internal Of a ticket of the state that is still there. */
  settle(state: Admitting, end: 'succeeded' | 'failed' | 'ignored', nowMs: number, random: number): void {
    if (this.#state !== state) return;
    if (state.kind === 'half-open') {
      if (end === 'succeeded') this.#move(this.#closed());
      else if (end === 'failed') this.#open(state.round + 1, nowMs, random);
      else state.probing = false;
    } else if (end === 'succeeded') {
      state.failures = 0;
      state.last?.add(false);
    } else if (end === 'failed') {
      if (state.failures === 0) state.firstFailureMs = nowMs;
      state.failures += 1;
      state.last?.add(true);
      const { failuresToOpen, spanMs = 0 } = this.#policy;
      const inARow = state.failures >= failuresToOpen && nowMs - state.firstFailureMs >= spanMs;
      if (inARow || state.last?.tooMany === true) this.#open(1, nowMs, random);
    }
  }

  #closed(): State {
    const { rolling } = this.#policy;
    return {
      kind: 'closed',
      failures: 0,
      firstFailureMs: 0,
      last: rolling === undefined ? undefined : new LastCalls(rolling),
    };
  }

  #open(round: number, nowMs: number, random: number): void {
    this.#move({ kind: 'open', untilMs: nowMs + backoffMs(round, this.#policy.open, random), round });
  }

  #move(next: State): void {
    this.#state = next;
    this.#onChange(next.kind);
  }
}

class Ticket implements BreakerTicket {
  readonly #breaker: Breaker;
  #state: Admitting | undefined;

  constructor(breaker: Breaker, state: Admitting) {
    this.#breaker = breaker;
    this.#state = state;
  }

  succeeded(): void {
    this.#settle('succeeded', 0, 0);
  }

  failed(nowMs: number, random: number): void {
    this.#settle('failed', nowMs, random);
  }

  ignored(): void {
    this.#settle('ignored', 0, 0);
  }

  /** Once. */
  #settle(end: 'succeeded' | 'failed' | 'ignored', nowMs: number, random: number): void {
    if (this.#state === undefined) return;
    this.#breaker.settle(this.#state, end, nowMs, random);
    this.#state = undefined;
  }
}

/** How the last calls ended, in a ring. */
class LastCalls {
  readonly #failed: Uint8Array;
  readonly #share: number;
  #next = 0;
  #count = 0;
  #failures = 0;

  constructor({ of, share }: { readonly of: number; readonly share: number }) {
    this.#failed = new Uint8Array(of);
    this.#share = share;
  }

  get tooMany(): boolean {
    const of = this.#failed.length;
    return this.#count === of && this.#failures >= this.#share * of;
  }

  add(failed: boolean): void {
    const before = this.#failed[this.#next]!;
    this.#failures += Number(failed) - before;
    this.#failed[this.#next] = Number(failed);
    this.#next = (this.#next + 1) % this.#failed.length;
    this.#count = Math.min(this.#count + 1, this.#failed.length);
  }
}
