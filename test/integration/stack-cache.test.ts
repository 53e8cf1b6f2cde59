/** What the local stack keeps between runs: whole or not there, fetched once, and never what the pins do not say. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { appendFile, mkdir, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { cacheRoot, provision } from '../../scripts/stack/cache.ts';
import { withFileLock } from '../../scripts/stack/lock.ts';
import { provisionPython } from '../../scripts/stack/python.ts';
import { startRedis } from '../../scripts/stack/redis.ts';
import { eventually } from '../support/stack-traces.ts';

let root: string;

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'rag-stack-test-'));
  vi.stubEnv('RAG_SERVING_CACHE_DIR', root);
});
afterEach(() => {
  vi.unstubAllEnvs();
  rmSync(root, { recursive: true, force: true });
});

const quiet = () => undefined;
const parts = () => readdirSync(root).filter((name) => !name.endsWith('.lock'));

test('the cache is where the environment says, in this order', () => {
  expect(cacheRoot({ RAG_SERVING_CACHE_DIR: '/a', XDG_CACHE_HOME: '/b' })).toBe('/a');
  expect(cacheRoot({ RAG_SERVING_CACHE_DIR: '', XDG_CACHE_HOME: '/b' })).toBe('/b/rag-inference-serving');
  expect(cacheRoot({})).toMatch(/\/\.cache\/rag-inference-serving$/);
});

test('a part is built once by those who ask at the same time, and seen only when whole', async () => {
  const folder = join(root, 'part-1');
  const build = async (into: string) => {
    await appendFile(join(root, 'builds.lock'), 'x');
    await writeFile(join(into, 'first'), '');
    expect(existsSync(folder)).toBe(false);
    await sleep(100);
    await writeFile(join(into, 'second'), '');
  };
  const folders = await Promise.all([1, 2, 3].map(() => provision('part-1', build, quiet)));
  expect(new Set(folders)).toEqual(new Set([folder]));
  expect(readdirSync(folder)).toEqual(['first', 'second']);
  expect(readFileSync(join(root, 'builds.lock'), 'utf8')).toBe('x');
});

test('a build that fails leaves nothing, and the next one starts afresh', async () => {
  const failing = provision(
    'part-2',
    async (into) => {
      await writeFile(join(into, 'half'), '');
      throw new Error('download broke off');
    },
    quiet,
  );
  await expect(failing).rejects.toThrow('download broke off');
  expect(parts()).toEqual([]);
  await provision('part-2', (into) => writeFile(join(into, 'whole'), ''), quiet);
  expect(readdirSync(join(root, 'part-2'))).toEqual(['whole']);
});

test('what a killed builder left is removed by the next one', async () => {
  await mkdir(join(root, 'part-3.tmp-1'));
  await provision('part-3', (into) => writeFile(join(into, 'whole'), ''), quiet);
  expect(parts()).toEqual(['part-3']);
});

test('a lock ends with its holder, also by SIGKILL', async () => {
  const file = join(root, 'held.lock');
  const holder = spawn('sh', ['-c', `flock ${file} sh -c 'echo held; read -r _'`], {
    stdio: ['pipe', 'pipe', 'ignore'],
    detached: true,
  });
  await once(holder.stdout, 'data');
  await expect(withFileLock(file, { timeoutMs: 1_000 }, async () => 'too early')).rejects.toThrow(
    /not free within 1000 ms/,
  );
  let waited = false;
  const taken = withFileLock(file, { timeoutMs: 30_000, onWait: () => (waited = true) }, async () => 'taken');
  expect(await eventually(() => waited, 5_000)).toBe(true);
  process.kill(-holder.pid!, 'SIGKILL');
  expect(await taken).toBe('taken');
});

test('a missing program is an error that says what to install', async () => {
  const bin = join(root, 'bin');
  await mkdir(bin);
  vi.stubEnv('PATH', bin);
  await expect(startRedis()).rejects.toMatchObject({
    code: 'DEPENDENCY_MISSING',
    message: expect.stringMatching(/redis needs Python 3/),
  });
});

test('a wheel whose sum is not the pinned one is refused', async () => {
  const requirements = 'test/support/stack-wrong-pin.txt';
  const need = { name: 'wrong', requirements, minors: [9, 10, 11, 12, 13, 14], sharedLibrary: false };
  await expect(provisionPython(need, quiet)).rejects.toThrow(/DO NOT MATCH THE HASHES/);
  expect(parts()).toEqual([]);
});
