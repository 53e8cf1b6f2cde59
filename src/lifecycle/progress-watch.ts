/**
 * Whether a worker that does nothing is right to do so, and what to do when it is not. Pure: a pulse and a time in, a
 * verdict out; whoever looks brings the numbers, and asks the broker when told to.
 *
 * The surprising fact: attempts are no sign of life. A consumer on a dead connection begins a fetch every 15 seconds, and a
 * group that is told nothing looks the same as one that has nothing to read. So the consumer counts by its last ANSWER, and
 * a standstill counts only when the broker, asked over a fresh connection, says that there is something to read.
 */
export type BrokerSays =
  | { readonly answers: false }
  | {
      readonly answers: true;
      /** False while the group waits for members: one that waits with it hears nothing and is well. */
      readonly groupSettled: boolean;
      /** Messages of our partitions that are not committed. */
      readonly lag: bigint;
    };

export type Pulse = {
  /** Changes with every record taken, attempt ended and record settled. */
  readonly activity: number;
  /** Records taken and not settled. */
  readonly inFlight: number;
  readonly joined: boolean;
  /** Since the consumer has had its last answer from a broker. */
  readonly silentMs: number;
  /** Why work may stand still: an outage that is waited out, a drain. */
  readonly excuse: string | undefined;
  /** Undefined unless it was asked for by the verdict before. */
  readonly broker: BrokerSays | undefined;
};

export type Finding =
  /** No answer on the consumer's connections, while a fresh one gets some. */
  | 'consumer-silent'
  /** There is something to read, and nothing comes. */
  | 'consumer-idle'
  /** Records are in flight, and nothing happens to them. */
  | 'pipeline-stalled';

export type Verdict =
  | { readonly kind: 'well' }
  /** Look again with what the broker says. */
  | { readonly kind: 'ask-broker' }
  | { readonly kind: 'rebuild-consumer'; readonly finding: Finding; readonly forMs: number }
  /** Nothing in this process heals it. */
  | { readonly kind: 'stop'; readonly finding: Finding; readonly forMs: number };

export type WatchLimits = {
  /** Longest time between two answers of a consumer that is well. */
  readonly silentMs: number;
  /** How long the broker must have answered others meanwhile: after an outage the consumer finds back by itself. */
  readonly confirmMs: number;
  /** How long a broker that answered nobody is not asked again. */
  readonly outageMs: number;
  /** Longer than any attempt may take. */
  readonly stallMs: number;
  /** How long something to read may lie there before a consumer that takes none of it is at fault. */
  readonly idleMs: number;
  /** Rebuilds in a row that may bring no membership. */
  readonly silentRebuilds: number;
};

const WELL: Verdict = { kind: 'well' };

export class ProgressWatch {
  readonly #limits: WatchLimits;
  #activity: number | undefined;
  #movedAtMs: number;
  #askedAtMs: number;
  #outageAtMs = Number.NEGATIVE_INFINITY;
  #rebuilds = 0;
  /** Since when the broker answers others, while the consumer hears nothing. */
  #othersHearSinceMs: number | undefined;
  /** Lag that stands still, since when, and what it was when the consumer was rebuilt for its sake. */
  #lag: { readonly messages: bigint; readonly sinceMs: number } | undefined;
  #lagAtRebuild: bigint | undefined;

  constructor(limits: WatchLimits, nowMs: number) {
    this.#limits = limits;
    this.#movedAtMs = nowMs;
    this.#askedAtMs = nowMs;
  }

  look(pulse: Pulse, nowMs: number): Verdict {
    const { activity, inFlight, joined, silentMs, excuse } = pulse;
    if (activity !== this.#activity) this.#moved(nowMs);
    this.#activity = activity;
    if (silentMs >= this.#limits.silentMs - this.#limits.confirmMs) return this.#silent(pulse, nowMs);
    this.#othersHearSinceMs = undefined;
    if (joined) this.#rebuilds = 0;
    // What stands still with an excuse is judged from the end of the excuse on.
    if (excuse !== undefined) this.#moved(nowMs);
    if (inFlight > 0) {
      this.#lag = undefined;
      const forMs = nowMs - this.#movedAtMs;
      return forMs >= this.#limits.stallMs ? { kind: 'stop', finding: 'pipeline-stalled', forMs } : WELL;
    }
    if (joined) return this.#idle(pulse, nowMs);
    this.#movedAtMs = nowMs;
    this.#lag = undefined;
    return WELL;
  }

  #silent({ broker, silentMs }: Pulse, nowMs: number): Verdict {
    if (broker === undefined) return nowMs - this.#outageAtMs >= this.#limits.outageMs ? { kind: 'ask-broker' } : WELL;
    if (!broker.answers) this.#outageAtMs = nowMs;
    // Nobody answers: an outage. The group waits: so may we.
    if (!broker.answers || !broker.groupSettled) {
      this.#othersHearSinceMs = undefined;
      return WELL;
    }
    this.#othersHearSinceMs ??= nowMs;
    const confirmed = nowMs - this.#othersHearSinceMs >= this.#limits.confirmMs;
    if (!confirmed || silentMs < this.#limits.silentMs) return WELL;
    this.#othersHearSinceMs = undefined;
    if (this.#rebuilds >= this.#limits.silentRebuilds) {
      return { kind: 'stop', finding: 'consumer-silent', forMs: silentMs };
    }
    this.#rebuilds++;
    return { kind: 'rebuild-consumer', finding: 'consumer-silent', forMs: silentMs };
  }

  #idle({ broker }: Pulse, nowMs: number): Verdict {
    const { idleMs } = this.#limits;
    if (broker === undefined) {
      return nowMs - Math.max(this.#movedAtMs, this.#askedAtMs) >= idleMs ? { kind: 'ask-broker' } : WELL;
    }
    this.#askedAtMs = nowMs;
    if (!broker.answers || !broker.groupSettled || broker.lag === 0n) {
      this.#lag = undefined;
      return WELL;
    }
    const before = this.#lag;
    // Falling lag is commits that move on.
    if (before === undefined || broker.lag < before.messages) {
      this.#lag = { messages: broker.lag, sinceMs: nowMs };
      return WELL;
    }
    const forMs = nowMs - before.sinceMs;
    if (forMs < idleMs) return WELL;
    this.#lag = undefined;
    if (this.#lagAtRebuild === undefined) {
      this.#lagAtRebuild = broker.lag;
      return { kind: 'rebuild-consumer', finding: 'consumer-idle', forMs };
    }
    // Lag that only stays may be offsets without records; lag that grows is records that nobody takes.
    return broker.lag > this.#lagAtRebuild ? { kind: 'stop', finding: 'consumer-idle', forMs } : WELL;
  }

  #moved(nowMs: number): void {
    this.#movedAtMs = nowMs;
    this.#lag = undefined;
    this.#lagAtRebuild = undefined;
  }
}
