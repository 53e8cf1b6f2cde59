/**
 * The endpoints of one pool: which one a call tries first, and which ones after it.
 *
 * Round robin; an endpoint that is connecting or has failed comes after those that are not, so that a silent host costs
 * a deadline only when no other endpoint is left. An idle one counts as well as a connected one: it has to be tried to
 * become connected.
 */
import { type ChannelCredentials, Client, connectivityState } from '@grpc/grpc-js';
import type { ErrorCode } from '../errors.ts';
import { Breaker, type BreakerPolicy, type BreakerStateName, defaultBreakerPolicy } from '../resilience/breaker.ts';
import { channelOptions } from './connection.ts';
import type { Endpoint } from './target.ts';

export type Connection = { readonly endpoint: Endpoint; readonly client: Client; readonly breaker: Breaker };

/** Told when the breaker of an endpoint changes. */
export type OnBreakerChange = (endpoint: string, state: BreakerStateName) => void;

/** When the breaker of an endpoint opens. */
export type BreakerChoice = {
  readonly policy: BreakerPolicy;
  /** How an inference ends that counts as a failure of the endpoint. */
  readonly failureCodes: readonly ErrorCode[];
};

/** An answer of any kind is a sign of life, also a refusal or a full queue: only silence and a missing model count. */
export const defaultBreaker: BreakerChoice = {
  policy: defaultBreakerPolicy,
  failureCodes: ['INFERENCE_UNAVAILABLE', 'INFERENCE_DEADLINE', 'MODEL_NOT_READY'],
};

export type EndpointPoolOptions = {
  readonly receiveLimitBytes: number;
  readonly serverName: string | undefined;
  readonly onBreakerChange: OnBreakerChange | undefined;
  readonly connectionsPerEndpoint: number;
  readonly breaker: BreakerChoice;
};

/** Order of `count` endpoints for call number `turn`; `usable` says which are not known to be away. */
export function tryOrder(count: number, turn: number, usable: (index: number) => boolean): number[] {
  const rotated = Array.from({ length: count }, (_, step) => (turn + step) % count);
  return [...rotated.filter(usable), ...rotated.filter((index) => !usable(index))];
}

export class EndpointPool {
  readonly failureCodes: readonly ErrorCode[];
  readonly #connections: readonly Connection[];
  readonly #endpointCount: number;
  #turn = 0;
  #closed = false;

  constructor(
    endpoints: readonly Endpoint[],
    credentials: ChannelCredentials,
    { receiveLimitBytes, serverName, onBreakerChange = () => {}, connectionsPerEndpoint, breaker }: EndpointPoolOptions,
  ) {
    const breakers = endpoints.map(({ name }) => new Breaker(breaker.policy, (state) => onBreakerChange(name, state)));
    this.failureCodes = breaker.failureCodes;
    this.#endpointCount = endpoints.length;
    // Endpoint after endpoint and then round again, so that calls in a row go to different ones.
    this.#connections = Array.from({ length: endpoints.length * connectionsPerEndpoint }, (_, index) => {
      const endpoint = endpoints[index % endpoints.length]!;
      return {
        endpoint,
        client: new Client(endpoint.target, credentials, channelOptions(endpoint, receiveLimitBytes, serverName)),
        breaker: breakers[index % endpoints.length]!,
      };
    });
  }

  /** More than one server may stand behind this pool. */
  get spread(): boolean {
    return this.#endpointCount > 1 || this.#connections.some(({ endpoint }) => endpoint.balanced);
  }

  get all(): readonly Connection[] {
    return this.#connections;
  }

  next(): readonly Connection[] {
    if (this.#connections.length === 1) return this.#connections;
    const order = tryOrder(this.#connections.length, this.#turn, (index) => {
      const state = this.#connections[index]!.client.getChannel().getConnectivityState(false);
      return state === connectivityState.READY || state === connectivityState.IDLE;
    });
    this.#turn = (this.#turn + 1) % this.#connections.length;
    return order.map((index) => this.#connections[index]!);
  }

  get closed(): boolean {
    return this.#closed;
  }

  close(): void {
    this.#closed = true;
    for (const { client } of this.#connections) client.close();
  }
}
