/** The local Redis: what its users rely on. */
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { startRedis } from '../../scripts/stack/redis.ts';
import { pingRedis } from '../../scripts/stack/redis-ready.ts';
import { useRedis } from '../support/stack.ts';
import { tracesOf } from '../support/stack-traces.ts';

/** The raw reply to one inline command. */
async function ask(port: number, command: string): Promise<string> {
  const socket = connect({ port, host: '127.0.0.1' });
  socket.write(`${command}\r\n`);
  const [reply] = (await once(socket, 'data')) as [Buffer];
  socket.destroy();
  return reply.toString();
}

const redis = useRedis({ appendonly: true, args: ['--maxmemory', '64mb', '--maxmemory-policy', 'noeviction'] });

test('answers, is version 7 or newer, and took the further arguments', async () => {
  expect(await ask(redis().port, 'PING')).toBe('+PONG\r\n');
  const major = Number(/redis_version:(\d+)/.exec(await ask(redis().port, 'INFO server'))?.[1]);
  expect(major).toBeGreaterThanOrEqual(7);
  expect(await ask(redis().port, 'CONFIG GET maxmemory')).toContain('67108864');
});

test('runs scripts and keeps acknowledged writes over SIGKILL and restart', async () => {
  expect(await ask(redis().port, `EVAL "return redis.call('HSET', KEYS[1], 'f', ARGV[1])" 1 hash v`)).toBe(':1\r\n');
  const former = redis().pid;
  await redis().kill();
  await expect(pingRedis(redis().port, undefined)).rejects.toThrow(/ECONNREFUSED/);
  await redis().restart();
  expect(redis().pid).not.toBe(former);
  expect(await ask(redis().port, 'HGET hash f')).toBe('$1\r\nv\r\n');
});

test('frozen by SIGSTOP it is silent, and SIGCONT wakes it', async () => {
  await redis().kill('SIGSTOP');
  await expect(pingRedis(redis().port, undefined)).rejects.toThrow(/no answer/);
  await redis().kill('SIGCONT');
  await pingRedis(redis().port, undefined);
});

test('asks for its password, and stop leaves nothing', async () => {
  const guarded = await startRedis({ password: 'pass-1' });
  const traces = { pid: guarded.pid, dataDir: guarded.dataDir };
  try {
    expect(await ask(guarded.port, 'PING')).toMatch(/^-NOAUTH/);
    await pingRedis(guarded.port, 'pass-1');
  } finally {
    await guarded.stop();
    await guarded.stop();
  }
  expect(tracesOf(traces)).toEqual([]);
  await expect(guarded.restart()).rejects.toThrow(/was stopped/);
});

test('a folder that the caller named is kept', async () => {
  const dir = mkdtempSync(join(tmpdir(), 'rag-stack-test-'));
  try {
    const first = await startRedis({ dir, appendonly: true });
    await ask(first.port, 'SET kept yes');
    await first.stop();
    const second = await startRedis({ dir, appendonly: true });
    const reply = await ask(second.port, 'GET kept');
    await second.stop();
    expect(reply).toBe('$3\r\nyes\r\n');
  } finally {
    rmSync(dir, { recursive: true, force: true });
  }
});
