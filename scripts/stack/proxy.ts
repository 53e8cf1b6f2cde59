/**
 * A TCP proxy in front of a server, for tests of what a network does: cut, go silent, be slow, come back.
 *
 * "Black hole" is the nasty one: connections stay open and new ones are accepted, and no byte goes either way, so a client
 * without a deadline waits for ever. What was held back is delivered on `restore`, as after a partition that heals.
 */
import { createServer, type Server, Socket } from 'node:net';

export type ProxyTarget = { readonly host?: string; readonly port: number };

export type FaultProxy = {
  readonly port: number;
  /** host:port of the proxy itself. */
  readonly address: string;
  /** Connections that are open now. */
  readonly connections: number;
  /** Resets every connection and refuses new ones. */
  cut(): Promise<void>;
  /** Accepts, and lets nothing through in either direction. */
  blackhole(): void;
  /** Lets nothing through on the connections of this moment, while those made later pass: the client's connection is wedged. */
  wedge(): void;
  /** Each piece of data arrives this many milliseconds later, in either direction. */
  delay(milliseconds: number): void;
  /** Listens and forwards again, without delay. */
  restore(): Promise<void>;
  close(): Promise<void>;
};

/** `port` 0 or none: a free one. It stays the same through `cut` and `restore`. */
export async function startProxy(options: {
  readonly target: ProxyTarget;
  readonly port?: number;
}): Promise<FaultProxy> {
  const proxy = new TcpProxy(options.target);
  await proxy.listen(options.port ?? 0);
  return proxy;
}

class TcpProxy implements FaultProxy {
  readonly #target: ProxyTarget;
  readonly #links = new Set<Link>();
  #server: Server | undefined;
  #port = 0;
  #silent = false;
  #delayMs = 0;

  constructor(target: ProxyTarget) {
    this.#target = target;
  }

  get port(): number {
    return this.#port;
  }

  get address(): string {
    return `127.0.0.1:${this.#port}`;
  }

  get connections(): number {
    return this.#links.size;
  }

  async cut(): Promise<void> {
    const server = this.#server;
    this.#server = undefined;
    for (const link of this.#links) link.reset();
    await new Promise<void>((resolve) => (server === undefined ? resolve() : server.close(() => resolve())));
  }

  blackhole(): void {
    this.#silent = true;
    for (const link of this.#links) link.hold();
  }

  wedge(): void {
    for (const link of this.#links) link.hold();
  }

  delay(milliseconds: number): void {
    this.#delayMs = milliseconds;
  }

  async restore(): Promise<void> {
    this.#silent = false;
    this.#delayMs = 0;
    for (const link of this.#links) link.letGo();
    if (this.#server === undefined) await this.listen(this.#port);
  }

  async close(): Promise<void> {
    await this.cut();
  }

  async listen(port: number): Promise<void> {
    const server = createServer({ pauseOnConnect: true, allowHalfOpen: true }, (client) => this.#accept(client));
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject);
      server.listen({ port, host: '127.0.0.1' }, () => resolve());
    });
    const address = server.address();
    if (address !== null && typeof address === 'object') this.#port = address.port;
    this.#server = server;
  }

  #accept(client: Socket): void {
    const link = new Link(client, this.#target, () => this.#delayMs);
    this.#links.add(link);
    link.onEnd(() => this.#links.delete(link));
    if (this.#silent) link.hold();
    else link.letGo();
  }
}

/** One client and its connection to the target. */
class Link {
  readonly #client: Socket;
  readonly #upstream: Socket;
  #held = false;

  constructor(client: Socket, target: ProxyTarget, delayMs: () => number) {
    this.#client = client;
    this.#upstream = new Socket({ allowHalfOpen: true });
    this.#upstream.connect({ host: target.host ?? '127.0.0.1', port: target.port });
    this.#forward(client, this.#upstream, delayMs);
    this.#forward(this.#upstream, client, delayMs);
  }

  onEnd(end: () => void): void {
    this.#client.once('close', end);
  }

  hold(): void {
    this.#held = true;
    this.#client.pause();
    this.#upstream.pause();
  }

  letGo(): void {
    this.#held = false;
    this.#client.resume();
    this.#upstream.resume();
  }

  reset(): void {
    this.#client.resetAndDestroy();
    this.#upstream.resetAndDestroy();
  }

  #forward(from: Socket, to: Socket, delayMs: () => number): void {
    let waiting = 0;
    let before: Promise<void> = Promise.resolve();
    // Pieces keep their order, also when the delay is shortened while one is on its way.
    const later = (act: () => void) => {
      const wait = delayMs();
      if (wait === 0 && waiting === 0) return act();
      waiting++;
      const due = new Promise<void>((resolve) => setTimeout(resolve, wait).unref());
      before = Promise.all([before, due]).then(() => {
        waiting--;
        if (!to.destroyed) act();
      });
    };
    from.setNoDelay(true);
    from.on('data', (piece) => {
      later(() => {
        if (to.write(piece)) return;
        from.pause();
        to.once('drain', () => {
          if (!this.#held) from.resume();
        });
      });
    });
    from.on('end', () => later(() => to.end()));
    from.on('error', () => to.destroy()); // a reset on one side ends the other at once
    from.on('close', () => later(() => to.destroySoon()));
  }
}
