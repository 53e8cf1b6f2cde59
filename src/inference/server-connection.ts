/**
 * One HTTP/2 connection to one server, with what is under way on it.
 *
 * A retired connection takes no more calls and ends when the last one on it has, so that a server which leaves the pool, or
 * a certificate that was replaced, costs nobody an answer.
 */
import { type ChannelCredentials, type ChannelOptions, Client, connectivityState } from '@grpc/grpc-js';
import type { Breaker } from '../resilience/breaker.ts';
import type { ServerAddress } from './target.ts';

/** `connecting` may become `ready` within a call; `failed` would fail it at once. */
export type ConnectionState = 'ready' | 'connecting' | 'failed';

/** Told of the end of every call by the name of its gRPC status; must not throw. */
export type OnCallEnd = (method: string, status: string) => void;

/** Calls have deadlines, but a caller may have set one of days. */
const LONGEST_FAREWELL_MS = 60_000;

export class Connection {
  readonly endpoint: ServerAddress;
  readonly client: Client;
  readonly breaker: Breaker;
  readonly onCallEnd: OnCallEnd;
  readonly #closers: (() => void)[] = [];
  #underWay = 0;
  #farewell: NodeJS.Timeout | undefined;
  #closed = false;

  constructor(
    endpoint: ServerAddress,
    breaker: Breaker,
    onCallEnd: OnCallEnd,
    credentials: ChannelCredentials,
    options: ChannelOptions,
  ) {
    this.endpoint = endpoint;
    this.breaker = breaker;
    this.onCallEnd = onCallEnd;
    this.client = new Client(endpoint.target, credentials, options);
  }

  /** Asking makes an idle one connect. */
  get state(): ConnectionState {
    if (this.#closed) return 'failed';
    const channel = this.client.getChannel();
    switch (channel.getConnectivityState(false)) {
      case connectivityState.READY:
        return 'ready';
      case connectivityState.IDLE:
        channel.getConnectivityState(true);
        return 'connecting';
      case connectivityState.CONNECTING:
        return 'connecting';
      default:
        return 'failed';
    }
  }

  get retired(): boolean {
    return this.#farewell !== undefined || this.#closed;
  }

  /** Each call begins once and ends once. */
  begin(): void {
    this.#underWay++;
  }

  end(): void {
    this.#underWay--;
    if (this.#underWay === 0 && this.retired) this.close();
  }

  /** Connects. Resolves with false when it could not be, not in this time, or when it was closed meanwhile. */
  async ready(withinMs: number): Promise<boolean> {
    const deadlineMs = Date.now() + withinMs;
    for (let state = this.state; ; state = this.state) {
      if (state !== 'connecting') return state === 'ready';
      if (!(await this.#changed(deadlineMs))) return false;
    }
  }

  /** What stands on this connection ends with it. */
  onClose(close: () => void): void {
    this.#closers.push(close);
  }

  retire(): void {
    if (this.retired) return;
    if (this.#underWay === 0) this.close();
    else this.#farewell = setTimeout(() => this.close(), LONGEST_FAREWELL_MS).unref();
  }

  close(): void {
    if (this.#closed) return;
    this.#closed = true;
    clearTimeout(this.#farewell);
    for (const close of this.#closers) close();
    this.client.close();
  }

  /** Resolves with false at the deadline. */
  #changed(deadlineMs: number): Promise<boolean> {
    const channel = this.client.getChannel();
    return new Promise((resolve) => {
      const now = channel.getConnectivityState(false);
      channel.watchConnectivityState(now, deadlineMs, (error) => resolve(error === undefined));
    });
  }
}
