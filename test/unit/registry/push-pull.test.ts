/** Push and pull over a registry in a folder: what is refused, and what a cut-off moment leaves. */
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { FileStorage } from '../../../src/registry/file-storage.ts';
import { collectGarbage } from '../../../src/registry/gc.ts';
import { GC_NOTICE } from '../../../src/registry/names.ts';
import { pull } from '../../../src/registry/pull.ts';
import { push } from '../../../src/registry/push.ts';
import { unwatched, type Watcher } from '../../../src/registry/transfer.ts';

const signal = new AbortController().signal;
const patience = { attempts: 2, timeoutMs: 1_000, backoff: { baseMs: 1, maxMs: 2 }, random: () => 0 };
let root = '';
let storage: FileStorage;

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'rag-registry-unit-'));
  storage = new FileStorage(join(root, 'registry'));
  mkdirSync(join(root, 'm/1'), { recursive: true });
  writeFileSync(join(root, 'm/1/model.onnx'), 'graph');
  writeFileSync(join(root, 'm/run.sh'), '#!', { mode: 0o755 });
});
afterEach(() => rmSync(root, { recursive: true, force: true }));

function pushed(model = 'm', watcher: Watcher = unwatched) {
  const [name = '', version] = model.split(':');
  const request = { folder: join(root, 'm'), name, version, tags: ['latest'], facts: {}, again: false };
  return push(request, { storage, concurrency: 2, nowMs: Date.now, watcher }, signal);
}

function pulled(reference = 'm', replace = false) {
  const machine = async () => ({ gpus: undefined, tensorrt: undefined });
  const request = { reference, folder: join(root, 'out'), machine, allowMismatch: false, replace };
  return pull(request, { storage, concurrency: 2, patience, watcher: unwatched }, signal);
}

describe('push', () => {
  it('names the version after its content: the same again is nothing, a change is another version', async () => {
    const first = await pushed();
    expect(await pushed()).toMatchObject({ version: first.version, unchanged: true, sentBytes: 0 });
    writeFileSync(join(root, 'm/1/model.onnx'), 'other');
    const second = await pushed();
    expect(second.version).not.toBe(first.version);
    expect(second.sentBytes).toBe(5);
  });
  it('never changes a version', async () => {
    await pushed('m:v1');
    writeFileSync(join(root, 'm/1/model.onnx'), 'other');
    await expect(pushed('m:v1')).rejects.toThrow(/m:v1 is there with other content.*name:another-version/);
  });
  it('refuses links out of the folder, and takes one that stays inside as a file', async () => {
    symlinkSync('model.onnx', join(root, 'm/1/same.onnx'));
    expect((await pushed()).files).toBe(3);
    writeFileSync(join(root, 'secret'), 'x');
    symlinkSync(join(root, 'secret'), join(root, 'm/1/link'));
    await expect(pushed()).rejects.toThrow(/"1\/link" is a link out of the folder; copy the folder with "cp -rL"/);
    rmSync(join(root, 'm/1/link'));
    symlinkSync('nowhere', join(root, 'm/1/link'));
    await expect(pushed()).rejects.toThrow(/is a link to nothing/);
    rmSync(join(root, 'm/1/link'));
    symlinkSync('1', join(root, 'm/two'));
    await expect(pushed()).rejects.toThrow(/"two" is neither a file nor a folder, or a link to a folder/);
  });
  it('refuses an empty folder: Triton wants the one of an ensemble, and it would not arrive', async () => {
    mkdirSync(join(root, 'm/ensemble/1'), { recursive: true });
    await expect(pushed()).rejects.toThrow(/"ensemble\/1" is an empty folder, which would not arrive; put a file/);
    writeFileSync(join(root, 'm/ensemble/1/.keep'), '');
    await pushed();
    await pulled();
    expect(readdirSync(join(root, 'out/ensemble/1'))).toEqual(['.keep']);
  });
  it('publishes nothing of a file that changes meanwhile', async () => {
    // Between the hash and the sending, which begins with its own step.
    const begin = (what: string) => what === 'push' && writeFileSync(join(root, 'm/1/model.onnx'), 'GRAPH');
    await expect(pushed('m', { ...unwatched, begin })).rejects.toThrow(
      /changed while it was being pushed; nothing was published/,
    );
    await expect(pulled()).rejects.toMatchObject({ code: 'REGISTRY_NOT_FOUND' });
  });
  it('refuses what is no model, by name', async () => {
    await expect(pushed('a/b')).rejects.toThrow(/the name of a model is 1–128 letters/);
    await expect(pushed('m:..')).rejects.toThrow(/the version of a model/);
    rmSync(join(root, 'm'), { recursive: true });
    await expect(pushed()).rejects.toThrow(/there is no such folder/);
    mkdirSync(join(root, 'm'));
    await expect(pushed()).rejects.toThrow(/holds no files/);
  });
});

describe('pull', () => {
  it('writes the files with their rights, each its own, and takes what it has from the old version', async () => {
    writeFileSync(join(root, 'm/copy.onnx'), 'graph');
    await pushed();
    await pulled();
    expect(statSync(join(root, 'out/run.sh')).mode & 0o777).toBe(0o755);
    writeFileSync(join(root, 'out/copy.onnx'), 'GRAPH');
    expect(readFileSync(join(root, 'out/1/model.onnx'), 'utf8')).toBe('graph');
    writeFileSync(join(root, 'm/new'), 'new');
    const { sha256 } = await pushed();
    // Of the blobs only the new one is still in the registry.
    for (const name of readdirSync(join(root, 'registry/blobs/sha256'))) {
      const path = join(root, 'registry/blobs/sha256', name);
      if (readFileSync(path, 'utf8') !== 'new') rmSync(path);
    }
    expect(await pulled()).toMatchObject({ sha256, unchanged: false });
    expect(readFileSync(join(root, 'out/copy.onnx'), 'utf8')).toBe('graph');
  });
  it('never takes the place of files that no pull wrote', async () => {
    await pushed();
    mkdirSync(join(root, 'out'));
    writeFileSync(join(root, 'out/mine'), 'x');
    await expect(pulled()).rejects.toThrow(/holds files that no pull wrote.*--replace/);
    expect(existsSync(join(root, 'out/mine'))).toBe(true);
    expect((await pulled('m', true)).unchanged).toBe(false);
    expect(existsSync(join(root, 'out/mine'))).toBe(false);
  });
  it('mends what a kill between the two renames leaves', async () => {
    await pushed();
    await pulled();
    renameSync(join(root, 'out'), join(root, '.out.rag-pull.old'));
    expect((await pulled()).unchanged).toBe(true);
    expect(readdirSync(root).filter((name) => name.startsWith('.out'))).toEqual([]);
  });
  it('takes over the lock of a pull that was killed', async () => {
    await pushed();
    const world = `${readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim()} x`;
    for (const holder of [{ pid: 999_999_999, began: '1', world }, undefined]) {
      const lock = join(root, '.out.rag-pull.lock');
      writeFileSync(lock, JSON.stringify({ token: 'theirs', holder }));
      // Of another world: only its age counts.
      const { utimesSync } = await import('node:fs');
      utimesSync(lock, 1, 1);
      await pulled();
      expect(existsSync(lock)).toBe(false);
    }
  });
  it('tells what there is when the one that is asked for is not', async () => {
    await pushed('m:v1');
    await expect(pulled('m:v2')).rejects.toThrow(/m:v2 is not there \(it has versions such as v1\)/);
    await expect(pulled('n')).rejects.toThrow(/n is not there \(no model of that name\)/);
    await expect(pulled('m@sha256:123456789abc')).rejects.toThrow(/no version of m has the digest/);
    await expect(pulled('m@12')).rejects.toThrow(/12 to 64 hexadecimal digits/);
  });
});

describe('a collection', () => {
  const request = { graceMs: 0, remove: true, concurrency: 2 };
  it('and a push that comes between its look and its deed: the push sends again what was removed', async () => {
    await pushed('m:v1');
    rmSync(join(root, 'registry/models'), { recursive: true });
    // The blobs are garbage now. The push sees them, and before it publishes they are removed.
    let looks = 0;
    const stat = storage.stat.bind(storage);
    storage.stat = async (key: string) => {
      const found = await stat(key);
      if (key.startsWith('blobs/') && ++looks === 2) {
        await collectGarbage(storage, { ...request, nowMs: () => Date.now() + 60_000 }, signal);
      }
      return found;
    };
    const result = await pushed('m:v2');
    expect(looks).toBeGreaterThan(2);
    expect(result.sentBytes).toBe(7);
    expect((await pulled('m:v2')).files).toBe(2);
  });
  it('keeps others from collecting, and leaves no notice when it fails', async () => {
    const notice = { format: 'rag-serving-gc/1', owner: 'other', untilMs: Date.now() + 1_000 };
    await storage.writeSmall(GC_NOTICE, Buffer.from(JSON.stringify(notice)), 'always');
    await expect(collectGarbage(storage, { ...request, nowMs: Date.now }, signal)).rejects.toThrow(
      /another collection is running/,
    );
    const later = () => notice.untilMs + 6 * 60_000;
    await storage.writeSmall('models/m/versions/1.json', Buffer.from('{'), 'always');
    await expect(collectGarbage(storage, { ...request, nowMs: later }, signal)).rejects.toMatchObject({
      code: 'REGISTRY_CORRUPT',
    });
    expect(await storage.readSmall(GC_NOTICE)).toBeUndefined();
  });
});
