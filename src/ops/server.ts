/**
 * The ops server of a program: it listens, and ends.
 *
 * It stays up to the very end of a drain: liveness stays 200 so that nobody kills a process that is finishing its work,
 * readiness is 503 from the first moment, everything else goes on.
 */
import type { FastifyInstance } from 'fastify';
import { createApp } from './app.ts';
import { bind } from './bind.ts';
import type { OpsServerOptions } from './options.ts';

export type OpsServer = {
  readonly port: number;
  /** Idempotent. Ends within about a second, whatever clients still hold open. */
  close(): Promise<void>;
};

const CLOSE_GRACE_MS = 1_000;

export async function startOpsServer(options: OpsServerOptions): Promise<OpsServer> {
  const app = await createApp(options);
  try {
    await bind(options.host, options.port, (address) => app.listen(address));
  } catch (error) {
    await app.close();
    throw error;
  }
  const address = app.server.address();
  let closing: Promise<void> | undefined;
  return {
    port: typeof address === 'object' && address !== null ? address.port : options.port,
    close: () => {
      closing ??= closeApp(app);
      return closing;
    },
  };
}

async function closeApp(app: Pick<FastifyInstance, 'close' | 'server'>): Promise<void> {
  // A scrape in flight may end; one that dawdles is cut off.
  const force = setTimeout(() => app.server.closeAllConnections(), CLOSE_GRACE_MS);
  try {
    await app.close();
  } finally {
    clearTimeout(force);
  }
}
