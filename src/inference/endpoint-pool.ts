/**
 * The servers of one pool, and which of them is asked next.
 *
 * An endpoint is one server, or a name with an address for each of its servers (`dns:///`): these come and go while the
 * pool is at work. Calls go round the servers that are connected, by their shares (a new one begins with a small one);
 * others only while none is, so that a silent host costs a deadline only when no other server is left.
 */
import type { ChannelCredentials } from '@grpc/grpc-js';
import { boundedWait } from '../bounded-wait.ts';
import { type ErrorCode, ServingError } from '../errors.ts';
import { type BreakerPolicy, type BreakerStateName, defaultBreakerPolicy } from '../resilience/breaker.ts';
import type { MembershipChange } from '../resilience/membership.ts';
import { nextTurn } from '../resilience/rotation.ts';
import { defaultSlowStart } from '../resilience/slow-start.ts';
import { type AddressLookup, lookupAt, machineLookup } from './addresses.ts';
import { type ChannelTls, channelCredentials, channelOptions } from './connection.ts';
import { NameWatch } from './name-watch.ts';
import { PoolMember } from './pool-member.ts';
import type { Connection, OnCallEnd } from './server-connection.ts';
import { type BalancedName, type Endpoint, type ServerAddress, serverAt } from './target.ts';

export type { Connection, OnCallEnd } from './server-connection.ts';

/** Told when the breaker of a server changes. */
export type OnBreakerChange = (server: string, state: BreakerStateName) => void;

/** When the breaker of a server opens. */
export type BreakerChoice = {
  readonly policy: BreakerPolicy;
  /** How an inference ends that counts as a failure of the server. */
  readonly failureCodes: readonly ErrorCode[];
};

/** An answer of any kind is a sign of life, also a refusal or a full queue: only silence and a missing model count. */
export const defaultBreaker: BreakerChoice = {
  policy: defaultBreakerPolicy,
  failureCodes: ['INFERENCE_UNAVAILABLE', 'INFERENCE_DEADLINE', 'MODEL_NOT_READY'],
};

export type PoolEvent =
  /** A server of a name (`endpoint`) takes calls from now on, or takes no more. */
  | { readonly kind: 'joined' | 'left'; readonly server: string; readonly endpoint: string }
  /** The addresses of a name are not to be had; those known are kept. Told once until they are again. */
  | { readonly kind: 'unresolved'; readonly endpoint: string; readonly error: ServingError }
  /** A server that is connected takes no connection with the new certificate; the old one is kept. */
  | { readonly kind: 'renewal-refused'; readonly server: string };

export type EndpointPoolOptions = {
  readonly receiveLimitBytes: number;
  readonly tls: ChannelTls | undefined;
  readonly onBreakerChange: OnBreakerChange | undefined;
  readonly onEvent: ((event: PoolEvent) => void) | undefined;
  readonly connectionsPerEndpoint: number;
  readonly breaker: BreakerChoice;
  /** How often the addresses of a name are asked for; 5 s unless given. */
  readonly lookUpEveryMs: number | undefined;
  readonly onCallEnd: OnCallEnd | undefined;
};

/** What one call has tried so far. */
export type Tried = { readonly connections: Set<Connection>; readonly members: Set<PoolMember> };

export type Choice = { readonly member: PoolMember; readonly connection: Connection };

const LOOK_UP_EVERY_MS = 5_000;

export class EndpointPool {
  readonly failureCodes: readonly ErrorCode[];
  /** More than one server may stand behind this pool. */
  readonly spread: boolean;
  readonly #options: EndpointPoolOptions;
  readonly #members: PoolMember[] = [];
  readonly #names: NameWatch[] = [];
  readonly #onMember = new Set<() => void>();
  #credentials: ChannelCredentials;
  #stopListening: () => void = () => {};
  #started = false;
  #closed = false;

  constructor(endpoints: readonly Endpoint[], options: EndpointPoolOptions) {
    const { tls } = options;
    this.#options = options;
    this.failureCodes = options.breaker.failureCodes;
    this.spread = endpoints.length > 1 || endpoints.some(({ balanced }) => balanced !== undefined);
    this.#credentials = channelCredentials(tls);
    for (const endpoint of endpoints) {
      if (endpoint.balanced === undefined) this.#members.push(this.#member(endpoint, false));
      else this.#names.push(this.#watch(endpoint.name, endpoint.balanced));
    }
    this.#stopListening = tls?.onChange?.(() => this.#renew(tls)) ?? this.#stopListening;
  }

  get closed(): boolean {
    return this.#closed;
  }

  /** The connection to ask next; undefined when all have been tried, or there is none yet. */
  choose(nowMs: number, tried?: Tried): Choice | undefined {
    if (!this.#started) this.#start();
    const members = this.#members;
    const only = members.length === 1 ? members[0] : undefined;
    const member = only ?? nextTurn(this.#best(nowMs, tried));
    if (member === undefined || tried?.members.has(member) === true) return undefined;
    const connection = member.pick(tried?.connections);
    return connection === undefined ? undefined : { member, connection };
  }

  /** Waits until a name has its first address. Rejects with INFERENCE_UNAVAILABLE when it has none, or none in time. */
  async someServer(method: string, deadlineMs: number, signal: AbortSignal | undefined): Promise<void> {
    if (this.#members.length > 0) return;
    let arrived = () => {};
    const arrival = new Promise<void>((resolve) => {
      arrived = resolve;
    });
    this.#onMember.add(arrived);
    try {
      const nowMs = performance.now();
      const asked = Promise.all(this.#names.map((name) => name.soon(nowMs)));
      const limits = { maxWaitMs: Math.max(0, deadlineMs - nowMs), signal };
      await boundedWait(Promise.race([arrival, asked]), limits, (end) =>
        end === 'aborted'
          ? new ServingError('INFERENCE_CANCELLED', `${method} was cancelled by its caller`, { cause: signal?.reason })
          : new ServingError('INFERENCE_DEADLINE', `${method}: the address of no server was found in time`),
      );
    } finally {
      this.#onMember.delete(arrived);
    }
    if (this.#members.length > 0 || this.#closed) return;
    throw (
      this.#names.find(({ failure }) => failure !== undefined)?.failure ??
      new ServingError('INFERENCE_UNAVAILABLE', `${method}: no server has an address yet`)
    );
  }

  /** A server was not to be reached: it may have another address by now. */
  lost(nowMs: number): void {
    for (const name of this.#names) void name.soon(nowMs);
  }

  close(): void {
    this.#closed = true;
    this.#stopListening();
    for (const name of this.#names) name.stop();
    for (const member of this.#members) member.close();
    for (const arrived of this.#onMember) arrived();
  }

  #start(): void {
    this.#started = true;
    if (this.#closed) return;
    for (const name of this.#names) name.start();
    if (this.#members.length > 1) for (const member of this.#members) member.connect();
  }

  /** Those of the highest rank. */
  #best(nowMs: number, tried: Tried | undefined): PoolMember[] {
    let best: PoolMember[] = [];
    let bestRank = 0;
    for (const member of this.#members) {
      if (tried?.members.has(member) === true) continue;
      const rank = member.rank(nowMs, tried?.connections);
      if (rank < bestRank) continue;
      if (rank > bestRank) best = [];
      best.push(member);
      bestRank = rank;
    }
    return best;
  }

  #watch(name: string, balanced: BalancedName): NameWatch {
    const servers = new Map<string, PoolMember>();
    const { onEvent = () => {}, onBreakerChange = () => {}, lookUpEveryMs: everyMs = LOOK_UP_EVERY_MS } = this.#options;
    const { nameServer } = balanced;
    const lookup: AddressLookup = nameServer === undefined ? machineLookup : lookupAt(nameServer);
    const onChange = ({ joined, left }: MembershipChange) => {
      const late = servers.size > 0;
      for (const address of joined) {
        const member = this.#member(serverAt(address, balanced), late);
        servers.set(address, member);
        this.#members.push(member);
        member.connect();
        onEvent({ kind: 'joined', server: member.server.name, endpoint: name });
      }
      for (const address of left) {
        const member = servers.get(address)!;
        servers.delete(address);
        this.#members.splice(this.#members.indexOf(member), 1);
        member.retire();
        // Whoever shows breakers would show this one open for ever.
        if (member.breaker.state !== 'closed') onBreakerChange(member.server.name, 'closed');
        onEvent({ kind: 'left', server: member.server.name, endpoint: name });
      }
      for (const arrived of this.#onMember) arrived();
    };
    const onFailure = (error: ServingError) => onEvent({ kind: 'unresolved', endpoint: name, error });
    return new NameWatch({ name, host: balanced.host, lookup, everyMs, onChange, onFailure });
  }

  #member(server: ServerAddress, late: boolean): PoolMember {
    const { receiveLimitBytes, tls, connectionsPerEndpoint, breaker } = this.#options;
    const { onBreakerChange = () => {}, onEvent = () => {}, onCallEnd = () => {} } = this.#options;
    return new PoolMember({
      onCallEnd,
      server,
      late,
      connections: connectionsPerEndpoint,
      breaker: breaker.policy,
      slowStart: defaultSlowStart,
      credentials: () => this.#credentials,
      options: channelOptions(server, receiveLimitBytes, tls?.serverName),
      onBreakerChange: (state) => onBreakerChange(server.name, state),
      onRenewalRefused: () => onEvent({ kind: 'renewal-refused', server: server.name }),
    });
  }

  #renew(tls: ChannelTls): void {
    this.#credentials = channelCredentials(tls);
    for (const member of this.#members) void member.renew();
  }
}
