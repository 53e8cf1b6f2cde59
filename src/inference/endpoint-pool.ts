/**
 * The endpoints of one pool: which one a call tries first, and which ones after it.
 *
 * Round robin; an endpoint that is connecting or has failed comes after those that are not, so that a silent host costs
 * a deadline only when no other endpoint is left. An idle one counts as well as a connected one: it has to be tried to
 * become connected.
 */
import { type ChannelCredentials, Client, connectivityState } from '@grpc/grpc-js';
import { Breaker, type BreakerStateName, defaultBreakerPolicy } from '../resilience/breaker.ts';
import { channelOptions } from './connection.ts';
import type { Endpoint } from './target.ts';

export type Connection = { readonly endpoint: Endpoint; readonly client: Client; readonly breaker: Breaker };

/** Told when the breaker of an endpoint changes. */
export type OnBreakerChange = (endpoint: string, state: BreakerStateName) => void;

/** Order of `count` endpoints for call number `turn`; `usable` says which are not known to be away. */
export function tryOrder(count: number, turn: number, usable: (index: number) => boolean): number[] {
  const rotated = Array.from({ length: count }, (_, step) => (turn + step) % count);
  return [...rotated.filter(usable), ...rotated.filter((index) => !usable(index))];
}

export class EndpointPool {
  readonly #connections: readonly Connection[];
  #turn = 0;

  constructor(
    endpoints: readonly Endpoint[],
    credentials: ChannelCredentials,
    receiveLimitBytes: number,
    serverName: string | undefined,
    onBreakerChange: OnBreakerChange = () => {},
  ) {
    this.#connections = endpoints.map((endpoint) => ({
      endpoint,
      client: new Client(endpoint.target, credentials, channelOptions(endpoint, receiveLimitBytes, serverName)),
      breaker: new Breaker(defaultBreakerPolicy, (state) => onBreakerChange(endpoint.name, state)),
    }));
  }

  /** More than one server may stand behind this pool. */
  get spread(): boolean {
    return this.#connections.length > 1 || this.#connections.some(({ endpoint }) => endpoint.balanced);
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

  close(): void {
    for (const { client } of this.#connections) client.close();
  }
}
