/**
 * Whether the channel to the model server is wedged: nothing is answered on it, and a fresh connection is. Pure.
 *
 * The surprising fact: a channel can be ready and dead. Behind a proxy, or after a partition that healed for others only, its
 * connection is open and no byte comes back; keepalive asks only while calls are open for longer than its interval, and a
 * peer that answers pings may still answer no call. A server that is away is no wedge: then the fresh connection gets no
 * answer either, and the channel reconnects by itself.
 */
export type ChannelWatchOptions = {
  /** Without any answer for so long, and with calls that ended so, the channel is suspect. */
  readonly silentMs: number;
  /** Replacements in a row that may bring no answer. */
  readonly replacements: number;
};

export type FreshVerdict = 'outage' | 'replace' | 'give-up';

const SUSPECT_AFTER_CALLS = 2;

export class ChannelWatch {
  readonly #options: ChannelWatchOptions;
  #answeredAtMs: number;
  #unanswered = 0;
  #replacements = 0;

  constructor(options: ChannelWatchOptions, nowMs: number) {
    this.#options = options;
    this.#answeredAtMs = nowMs;
  }

  /** How long there has been no answer. */
  silentMs(nowMs: number): number {
    return nowMs - this.#answeredAtMs;
  }

  /** Any answer counts, also a refusal. */
  answered(nowMs: number): void {
    this.#answeredAtMs = nowMs;
    this.#unanswered = 0;
    this.#replacements = 0;
  }

  /** A call ended at its deadline, or found no connection. */
  unanswered(): void {
    this.#unanswered++;
  }

  /** True when the server should be asked over a fresh connection. */
  suspect(nowMs: number): boolean {
    return this.#unanswered >= SUSPECT_AFTER_CALLS && this.silentMs(nowMs) >= this.#options.silentMs;
  }

  /** What to do, given whether a fresh connection got an answer while this channel did not. */
  judge(freshAnswers: boolean, nowMs: number): FreshVerdict {
    if (!freshAnswers) return 'outage';
    if (this.#replacements >= this.#options.replacements) return 'give-up';
    this.#replacements++;
    this.#answeredAtMs = nowMs;
    this.#unanswered = 0;
    return 'replace';
  }
}
