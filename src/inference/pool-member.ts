/**
 * One server of a pool: its connections, its breaker, and how large a share of the calls it gets.
 *
 * Surprising: whether it has come back is noticed when it is asked for a connection. A server that was away between two
 * calls was not missed, and needs no slow start.
 */
import type { ChannelCredentials, ChannelOptions } from '@grpc/grpc-js';
import { Breaker, type BreakerPolicy, type BreakerStateName } from '../resilience/breaker.ts';
import type { Contender } from '../resilience/rotation.ts';
import { type SlowStartPolicy, slowStartShare } from '../resilience/slow-start.ts';
import { Connection, type ConnectionState, type OnCallEnd } from './server-connection.ts';
import type { ServerAddress } from './target.ts';

export type MemberOptions = {
  readonly server: ServerAddress;
  readonly connections: number;
  readonly breaker: BreakerPolicy;
  readonly slowStart: SlowStartPolicy;
  /** Joined others that are at work. */
  readonly late: boolean;
  /** Those of now: they change with the certificate. */
  readonly credentials: () => ChannelCredentials;
  readonly options: ChannelOptions;
  readonly onCallEnd: OnCallEnd;
  onBreakerChange(state: BreakerStateName): void;
  /** A connection with the new certificate did not come about, and the old one is well: it is kept, and it is tried again. */
  onRenewalRefused(): void;
};

const RENEWAL_TIMEOUT_MS = 10_000;
const RENEW_AGAIN_MS = 30_000;

/** Better ones first. */
const RANKS = { ready: 4, connecting: 2, failed: 0 } as const satisfies Record<ConnectionState, number>;
const UNTRIED = 1;

export class PoolMember implements Contender {
  credit = 0;
  share = 1;
  readonly server: ServerAddress;
  readonly breaker: Breaker;
  readonly #options: MemberOptions;
  readonly #connections: Connection[];
  #coming: Connection[] = [];
  #again: NodeJS.Timeout | undefined;
  #turn = 0;
  /** Undefined: it has its whole share. */
  #startedAtMs: number | undefined;
  #startsWhenReady: boolean;
  #wasReady = false;
  #gone = false;

  constructor(options: MemberOptions) {
    this.server = options.server;
    this.#options = options;
    this.#startsWhenReady = options.late;
    this.breaker = new Breaker(options.breaker, (state) => {
      // Its calls failed, and now one has not.
      if (state === 'closed') this.#startsWhenReady = true;
      options.onBreakerChange(state);
    });
    this.#connections = Array.from({ length: options.connections }, () => this.#open());
  }

  /** Connects without waiting for a call. */
  connect(): void {
    for (const connection of this.#connections) void connection.state;
  }

  /** How good the best of its connections is that has not been tried; −1 when all have. Sets `share` for now. */
  rank(nowMs: number, tried: ReadonlySet<Connection> | undefined): number {
    let best = -1;
    let ready = false;
    let untried = UNTRIED;
    for (const connection of this.#connections) {
      const { state } = connection;
      if (state === 'ready') ready = true;
      if (tried?.has(connection) === true) untried = 0;
      else if (RANKS[state] > best) best = RANKS[state];
    }
    this.#start(ready, nowMs);
    return best === -1 ? -1 : best + untried;
  }

  /** The connection whose turn it is among the best that have not been tried. */
  pick(tried: ReadonlySet<Connection> | undefined): Connection | undefined {
    const count = this.#connections.length;
    let best: Connection | undefined;
    let bestRank = -1;
    for (let step = 0; step < count && bestRank < RANKS.ready; step++) {
      const connection = this.#connections[(this.#turn + step) % count]!;
      const rank = RANKS[connection.state];
      if (tried?.has(connection) === true || rank <= bestRank) continue;
      best = connection;
      bestRank = rank;
    }
    this.#turn = (this.#turn + 1) % count;
    return best;
  }

  /**
   * Makes its connections anew, with the credentials of now. Each old one serves until its successor is connected, and then
   * what is under way on it ends by itself.
   */
  async renew(): Promise<void> {
    if (!(await this.#renewAll())) this.#options.onRenewalRefused();
  }

  /** Takes no more calls; what is under way ends by itself. */
  retire(): void {
    this.#leave();
    for (const connection of this.#connections) connection.retire();
  }

  close(): void {
    this.#leave();
    for (const connection of this.#connections) connection.close();
  }

  /** False when a server that is well refuses; then it is tried again. */
  async #renewAll(): Promise<boolean> {
    if (this.#gone) return true;
    clearTimeout(this.#again);
    for (const connection of this.#coming.splice(0)) connection.close();
    const renewed = await Promise.all(this.#connections.map((_, index) => this.#replace(index)));
    if (this.#gone || renewed.every(Boolean)) return true;
    this.#again = setTimeout(() => void this.#renewAll(), RENEW_AGAIN_MS).unref();
    return false;
  }

  #leave(): void {
    this.#gone = true;
    clearTimeout(this.#again);
    for (const connection of this.#coming.splice(0)) connection.close();
  }

  #open(): Connection {
    const { server, onCallEnd, credentials, options } = this.#options;
    return new Connection(server, this.breaker, onCallEnd, credentials(), options);
  }

  /** False when the old one is kept, for it is well and the new one did not come about. */
  async #replace(index: number): Promise<boolean> {
    const fresh = this.#open();
    this.#coming.push(fresh);
    const ready = await fresh.ready(RENEWAL_TIMEOUT_MS);
    const at = this.#coming.indexOf(fresh);
    // Closed meanwhile: by a still newer certificate, or with the pool.
    if (at === -1) return true;
    this.#coming.splice(at, 1);
    const old = this.#connections[index]!;
    if (!ready && old.state === 'ready') {
      fresh.close();
      return false;
    }
    this.#connections[index] = fresh;
    old.retire();
    return true;
  }

  #start(ready: boolean, nowMs: number): void {
    if (!ready) {
      this.#startsWhenReady ||= this.#wasReady;
    } else if (this.#startsWhenReady) {
      this.#startsWhenReady = false;
      this.#startedAtMs = nowMs;
    }
    this.#wasReady = ready;
    if (this.#startedAtMs === undefined) return;
    this.share = slowStartShare(nowMs - this.#startedAtMs, this.#options.slowStart);
    if (this.share === 1) this.#startedAtMs = undefined;
  }
}
