/**
 * What a member does between hearing of a rebalance and joining again: it lets work in flight finish for a bounded time,
 * so that the next owner of a partition does not do it again, and commits what is done. The others wait for it meanwhile.
 *
 * Heartbeats go on: the broker waits for the rejoin as long as the rebalance timeout, but for a heartbeat only as long as
 * the session. Without a membership there is nothing to hold: no commit would count.
 */
import type { Log } from '../telemetry/log.ts';
import { settledWithin } from './bounded.ts';

export type RejoinHoldOptions = {
  /** 0: joins at once, after having sent a commit. */
  readonly holdMs: number;
  readonly isIdle: () => boolean;
  /** Resolves when all that is done is acknowledged, rejects when that takes longer than the signal allows. */
  readonly commit: (signal: AbortSignal) => Promise<void>;
  /** Sends what is done and does not wait. */
  readonly flush: () => void;
};

export type HoldReport = { readonly heldMs: number; readonly committed: boolean };

const HEARTBEAT_EVERY_MS = 500;
/** For the commit at the end; longer than a broker takes that is well. */
const COMMIT_MS = 1_000;

export class RejoinHold {
  readonly #options: RejoinHoldOptions;
  #wake: AbortController | undefined;
  #cancelled = false;

  constructor(options: RejoinHoldOptions) {
    this.#options = options;
  }

  get isHolding(): boolean {
    return this.#wake !== undefined;
  }

  /** Work has ended. */
  noteSettled(): void {
    if (this.#wake !== undefined && this.#options.isIdle()) this.#wake.abort();
  }

  /** For good: whoever closes does not wait. */
  cancel(): void {
    this.#cancelled = true;
    this.#wake?.abort();
  }

  /** Never rejects. */
  async run(heartbeat: () => Promise<boolean>): Promise<HoldReport> {
    const { holdMs, isIdle, flush } = this.#options;
    const startedAt = performance.now();
    const heldMs = () => Math.round(performance.now() - startedAt);
    flush();
    if (holdMs === 0 || this.#cancelled) return { heldMs: 0, committed: false };
    const wake = new AbortController();
    this.#wake = wake;
    try {
      let member = true;
      while (member && !wake.signal.aborted && !isIdle() && heldMs() < holdMs) {
        member = await settledWithin(heartbeat(), holdMs, 'send a heartbeat').catch(() => false);
        const left = Math.min(HEARTBEAT_EVERY_MS, holdMs - heldMs());
        if (member && left > 0) await passes(left, wake.signal);
      }
      return { heldMs: heldMs(), committed: member && !this.#cancelled && (await this.#commit()) };
    } finally {
      this.#wake = undefined;
    }
  }

  async #commit(): Promise<boolean> {
    try {
      await this.#options.commit(AbortSignal.timeout(COMMIT_MS));
      return true;
    } catch {
      return false;
    }
  }
}

/** Resolves after the time, or as soon as the signal aborts. */
function passes(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const end = () => {
      clearTimeout(timer);
      signal.removeEventListener('abort', end);
      resolve();
    };
    const timer = setTimeout(end, ms);
    if (signal.aborted) end();
    else signal.addEventListener('abort', end);
  });
}

/** Runs the hold and tells what it was good for. */
export async function holdRejoin(
  hold: RejoinHold,
  flow: { readonly chunks: number },
  log: Log,
  heartbeat: () => Promise<boolean>,
): Promise<void> {
  const before = flow.chunks;
  log.info('group is rebalancing', { inFlightChunks: before });
  const report = await hold.run(heartbeat);
  const after = flow.chunks;
  if (before > 0) log.info('joining again', { ...report, finishedChunks: before - after, inFlightChunks: after });
}
