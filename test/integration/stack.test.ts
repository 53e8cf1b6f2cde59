/** The life of the local stack: side by side, restarted, and gone with whoever started it, however that one ended. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { freePort, isPortFree } from '../../scripts/stack/free-port.ts';
import { startRedis } from '../../scripts/stack/redis.ts';
import { pingRedis } from '../../scripts/stack/redis-ready.ts';
import { startStack } from '../../scripts/stack/stack.ts';
import { eventually, isRunning, processesWith, shmFilesWith, tracesOf } from '../support/stack-traces.ts';

const RUNNER = resolve(import.meta.dirname, '../support/stack-run.mjs');
const MAIN = resolve(import.meta.dirname, '../../scripts/stack/main.ts');

describe('several servers in one process', () => {
  test('two stacks run at once, apart from each other, and leave nothing', async () => {
    const stacks = await Promise.all([
      startStack(['kafka', 'redis'], () => {}),
      startStack(['kafka', 'redis'], () => {}),
    ]);
    const servers = stacks.flatMap((stack) => [...stack.servers]);
    const traces = servers.map(({ pid, dataDir }) => ({ pid, dataDir }));
    try {
      const endpoints = stacks.flatMap((stack) => Object.values(stack.endpoints));
      expect(new Set(endpoints).size).toBe(4);
      expect(new Set(servers.map(({ dataDir }) => dataDir)).size).toBe(4);
    } finally {
      await Promise.all(stacks.map((stack) => stack.stop()));
    }
    expect(traces.flatMap(tracesOf)).toEqual([]);
  });

  test('a port that is taken is an error that names it, and nothing is left', async () => {
    const taken = await startRedis();
    try {
      await expect(startRedis({ port: taken.port })).rejects.toThrow(`port ${taken.port} of 127.0.0.1 is taken`);
      expect(processesWith(`127.0.0.1:${taken.port}`)).toEqual([taken.pid]);
    } finally {
      await taken.stop();
    }
  });

  test('a server that ends at once shows the end of its log, and nothing is left', async () => {
    const port = await freePort();
    const wrong = startRedis({ port, args: ['--maxmemory', 'lots'] });
    await expect(wrong).rejects.toThrow(/redis ended before it was ready; end of its log:[\s\S]*maxmemory/);
    expect(processesWith(`127.0.0.1:${port}`)).toEqual([]);
  });
});

/** Folders of Triton's python backend, which it leaves when it is killed. */
function pythonEnvironments(): string[] {
  return readdirSync('/tmp').filter((name) => name.startsWith('python_env_'));
}

describe('the command line', () => {
  let folder: string;
  let child: ChildProcess | undefined;

  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'rag-stack-test-'));
  });
  afterEach(() => {
    child?.kill('SIGKILL');
    rmSync(folder, { recursive: true, force: true });
  });

  /** Endpoints that `up` announced. */
  async function up(...parts: string[]): Promise<Record<string, string>> {
    const file = join(folder, 'endpoints.json');
    child = spawn(process.execPath, [RUNNER, MAIN, 'up', ...parts, '--json', file], {
      stdio: 'ignore',
      env: { ...process.env, TMPDIR: folder },
    });
    const announced = () => {
      try {
        return JSON.parse(readFileSync(file, 'utf8')) as Record<string, string>;
      } catch {
        return undefined;
      }
    };
    expect(await eventually(() => announced() !== undefined, 90_000)).toBe(true);
    return announced()!;
  }

  test('up announces endpoints that work, and a SIGTERM ends everything with exit code 0', async () => {
    const endpoints = await up('--redis');
    const port = Number(new URL(endpoints.RAG_SERVING_REDIS_URL!).port);
    await pingRedis(port, undefined);
    const pids = processesWith(folder);
    expect(pids.length).toBeGreaterThanOrEqual(2);
    child!.kill('SIGTERM');
    const [code] = (await once(child!, 'exit')) as [number | null];
    expect(code).toBe(0);
    expect(pids.filter(isRunning)).toEqual([]);
    expect(processesWith(folder)).toEqual([]);
    expect(await isPortFree(port)).toBe(true);
  });

  test('SIGKILL of the starter leaves no server, no data and no file in /dev/shm', async () => {
    const before = pythonEnvironments();
    await up();
    const made = pythonEnvironments().filter((name) => !before.includes(name));
    expect(made.length).toBeGreaterThan(0);
    const shmPrefix = `rag-triton-${child!.pid}-`;
    expect(shmFilesWith(shmPrefix).length).toBeGreaterThan(0);
    const watched = [...processesWith(folder), ...processesWith(shmPrefix)].filter((pid) => pid !== child!.pid);
    expect(watched.length).toBeGreaterThanOrEqual(6); // three servers, their watchdogs, and Triton's models
    child!.kill('SIGKILL');
    await once(child!, 'exit');
    expect(await eventually(() => watched.every((pid) => !isRunning(pid)), 5_000)).toBe(true);
    expect(shmFilesWith(shmPrefix)).toEqual([]);
    expect(pythonEnvironments().filter((name) => made.includes(name))).toEqual([]);
    expect(processesWith(folder)).toEqual([]);
  });

  test('a wrong option is an error that shows the help', async () => {
    child = spawn(process.execPath, [RUNNER, MAIN, 'up', '--kafak'], { stdio: ['ignore', 'ignore', 'pipe'] });
    let said = '';
    child.stderr!.setEncoding('utf8').on('data', (text: string) => {
      said += text;
    });
    const [code] = (await once(child, 'close')) as [number | null];
    expect(code).toBe(1);
    expect(said).toContain('--kafka');
  });
});
