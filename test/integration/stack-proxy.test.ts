/** The proxy that tests put before a server: each of its faults, as a client sees it. */
import { once } from 'node:events';
import { connect, createServer, type Server, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { type FaultProxy, startProxy } from '../../scripts/stack/proxy.ts';

let echo: Server;
let proxy: FaultProxy;
const sockets: Socket[] = [];

beforeEach(async () => {
  echo = createServer({ allowHalfOpen: true }, (socket) => socket.on('error', () => undefined).pipe(socket));
  echo.listen(0, '127.0.0.1');
  await once(echo, 'listening');
  proxy = await startProxy({ target: { port: (echo.address() as { port: number }).port } });
});
afterEach(async () => {
  for (const socket of sockets.splice(0)) socket.destroy();
  await proxy.close();
  echo.close();
});

async function dial(): Promise<Socket> {
  const socket = connect({ port: proxy.port, host: '127.0.0.1', allowHalfOpen: true });
  sockets.push(socket);
  await once(socket, 'connect');
  socket.on('error', () => undefined);
  return socket;
}

/** What comes back within the time; '' when nothing does. */
async function say(socket: Socket, text: string, withinMs = 5_000): Promise<string> {
  const answer = once(socket, 'data').then(([data]) => String(data));
  socket.write(text);
  return await Promise.race([answer, sleep(withinMs, '', { ref: false })]);
}

test('passes bytes both ways, and an end in one direction', async () => {
  const socket = await dial();
  const pieces: Buffer[] = [];
  socket.on('data', (piece: Buffer) => pieces.push(piece));
  const sent = Buffer.alloc(8_000_000, 'abc');
  socket.end(sent);
  await once(socket, 'end');
  expect(Buffer.concat(pieces).equals(sent)).toBe(true);
});

test('cut resets connections and refuses new ones until restore, on the same port', async () => {
  const socket = await dial();
  expect(await say(socket, 'before')).toBe('before');
  const closed = new Promise((resolve) => socket.once('close', resolve));
  await proxy.cut();
  await closed;
  expect(proxy.connections).toBe(0);
  await expect(dial()).rejects.toThrow(/ECONNREFUSED/);
  await proxy.restore();
  expect(await say(await dial(), 'after')).toBe('after');
});

test('a black hole keeps connections open and silent, and what it held arrives on restore', async () => {
  const old = await dial();
  expect(await say(old, 'before')).toBe('before');
  proxy.blackhole();
  expect(await say(old, 'held', 300)).toBe('');
  const young = await dial();
  expect(await say(young, 'young', 300)).toBe('');
  expect([old.destroyed, young.destroyed]).toEqual([false, false]);
  const arrived = Promise.all([once(old, 'data'), once(young, 'data')]);
  await proxy.restore();
  expect((await arrived).map(([data]) => String(data))).toEqual(['held', 'young']);
});

test('a wedge silences the connections of its moment and no later one, and what it held arrives on restore', async () => {
  const old = await dial();
  expect(await say(old, 'before')).toBe('before');
  proxy.wedge();
  expect(await say(old, 'held', 300)).toBe('');
  expect(await say(await dial(), 'young')).toBe('young');
  const arrived = once(old, 'data');
  await proxy.restore();
  expect(String((await arrived)[0])).toBe('held');
});

test('a delay counts in both directions and keeps the order when it is shortened', async () => {
  const socket = await dial();
  proxy.delay(150);
  const start = performance.now();
  const received: string[] = [];
  socket.on('data', (piece: Buffer) => received.push(piece.toString()));
  socket.write('slow,');
  await sleep(50);
  proxy.delay(0);
  socket.write('quick');
  while (received.join('') !== 'slow,quick' && performance.now() - start < 5_000) await sleep(5);
  expect(received.join('')).toBe('slow,quick');
  expect(performance.now() - start).toBeGreaterThanOrEqual(149);
});

test('a target that is gone is the end of the connection', async () => {
  echo.close();
  await once(echo, 'close');
  const socket = connect({ port: proxy.port, host: '127.0.0.1' });
  sockets.push(socket);
  socket.on('error', () => undefined);
  await new Promise((resolve) => socket.once('close', resolve));
  expect(proxy.connections).toBe(0);
});
