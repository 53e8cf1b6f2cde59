/**
 * Free TCP ports on 127.0.0.1 for servers that must be told their port.
 *
 * They come from below the kernel's ephemeral range: a port that the kernel gave us for port 0 may become the local port
 * of anybody's outgoing connection while a server is down, and its restart on the same port would then fail.
 */
import { randomInt } from 'node:crypto';
import { createServer } from 'node:net';
import { ServingError } from '../../src/errors.ts';

const LOWEST = 14_000;
const BEYOND = 32_000;
const ATTEMPTS = 200;

/** Ports given by this process are not given again: a server may bind its port long after it was chosen. */
const given = new Set<number>();

export async function freePort(): Promise<number> {
  for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
    const port = randomInt(LOWEST, BEYOND);
    if (given.has(port) || !(await isPortFree(port))) continue;
    given.add(port);
    return port;
  }
  throw new ServingError('INTERNAL', `no free TCP port found on 127.0.0.1 between ${LOWEST} and ${BEYOND}`);
}

export function isPortFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', () => resolve(false));
    server.listen({ port, host: '127.0.0.1', exclusive: true }, () => server.close(() => resolve(true)));
  });
}
