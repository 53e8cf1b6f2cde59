/** Bad weather between a registry on S3 and a folder: a clear error or none, and never a folder that is half of something. */
import { execFileSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, describe, expect, it, vi } from 'vitest';
import { fetchBlob } from '../../../src/registry/fetch-blob.ts';
import { sha256Hex } from '../../../src/registry/manifest.ts';
import { unwatched } from '../../../src/registry/transfer.ts';
import { verifyRemote } from '../../../src/registry/verify.ts';
import { failureOf, isBlob, PATIENCE, useRegistry } from './registry-world.ts';

vi.setConfig({ testTimeout: 60_000 });

const { s3, root, large, relay, storageOf, pushModel, pullModel } = useRegistry();
const signal = new AbortController().signal;

describe('pull', () => {
  it('goes on over connections that are cut in the middle of a part, and is right in the end', async () => {
    let cuts = 0;
    relay().spoil = ({ url, method }) =>
      method === 'GET' && isBlob(url) && ++cuts <= 5 ? { kind: 'cut', afterBytes: 3_000_000 } : undefined;
    await pullModel('cut');
    expect(readFileSync(join(root, 'cut/1/model.onnx')).equals(large)).toBe(true);
    expect(cuts).toBeGreaterThan(5);
  });

  it('a part that ends early every time is told, nothing is served, and the next pull fetches only the rest', async () => {
    let passed = 0;
    relay().spoil = ({ url, method, headers }) => {
      if (method !== 'GET' || !isBlob(url)) return undefined;
      if (headers.range?.startsWith('bytes=0-')) return void passed++;
      return { kind: 'cut', afterBytes: 0 };
    };
    expect(await failureOf(pullModel('early'))).toMatchObject({ code: 'REGISTRY_UNAVAILABLE' });
    expect(existsSync(join(root, 'early'))).toBe(false);
    expect(passed).toBeGreaterThan(0);
    relay().spoil = () => undefined;
    relay().seen.length = 0;
    await pullModel('early');
    // Three parts, one of which had arrived; the small file may have, too.
    expect(relay().seen.filter((line) => line.startsWith('GET') && isBlob(line)).length).toBeLessThanOrEqual(3);
    expect(readFileSync(join(root, 'early/1/model.onnx')).equals(large)).toBe(true);
    expect(existsSync(join(root, '.early.rag-pull'))).toBe(false);
  });

  it('goes on when the server falls silent in the middle of a part', async () => {
    let stalls = 0;
    relay().spoil = ({ url, method }) =>
      method === 'GET' && isBlob(url) && ++stalls === 1 ? { kind: 'stall', afterBytes: 5 } : undefined;
    await pullModel('silent');
    expect(readFileSync(join(root, 'silent/1/model.onnx')).equals(large)).toBe(true);
  });

  it('waits and tries again when the server is too busy', async () => {
    let busy = 0;
    relay().spoil = ({ url }) =>
      isBlob(url) && ++busy <= 2 ? { kind: 'error', status: 503, code: 'SlowDown' } : undefined;
    await pullModel('busy');
    expect(existsSync(join(root, 'busy/config.pbtxt'))).toBe(true);
  });

  it('mends one altered answer by itself', async () => {
    let altered = 0;
    relay().spoil = ({ url, method, headers }) =>
      method === 'GET' && isBlob(url) && headers.range?.startsWith('bytes=0-16') && ++altered === 1
        ? { kind: 'alter' }
        : undefined;
    await pullModel('altered');
    expect(altered).toBe(2);
    expect(readFileSync(join(root, 'altered/1/model.onnx')).equals(large)).toBe(true);
  });

  it('a wrong checksum keeps the old version in its place, verify tells which file, and push --again mends it', async () => {
    mkdirSync(join(root, 'next'));
    writeFileSync(join(root, 'next/config.pbtxt'), 'name: "next"');
    const storage = storageOf();
    await pullModel('served', storage);
    await pushModel(storage, 'next');
    const blob = join(s3().objectsDir, 'faults/blobs/sha256', sha256Hex(Buffer.from('name: "next"')));
    writeFileSync(blob, 'name: "nexT"');
    const error = await failureOf(pullModel('served', storage));
    expect(error).toMatchObject({ code: 'REGISTRY_CORRUPT' });
    expect(error.message).toMatch(/wrong checksum.*push --again/);
    expect(readFileSync(join(root, 'served/1/model.onnx')).equals(large)).toBe(true);
    const options = { deep: true, concurrency: 2, watcher: unwatched };
    expect((await verifyRemote(storage, 'm', options, signal)).findings).toMatchObject([
      { paths: ['config.pbtxt'], problem: 'wrong content' },
    ]);
    await pushModel(storage, 'next', 'm', true);
    await pullModel('served', storage);
    expect(readFileSync(join(root, 'served/config.pbtxt'), 'utf8')).toBe('name: "next"');
    expect(existsSync(join(root, 'served/1'))).toBe(false);
    await pushModel(storage);
  });

  it('a manifest that climbs out of the folder is refused', async () => {
    const key = join(s3().objectsDir, 'faults/models/evil/versions/1.json');
    await storageOf().writeSmall('models/evil/versions/1.json', Buffer.from('{}'), 'always', signal);
    const file = { path: '../../../etc/cron.d/x', sha256: 'a'.repeat(64), sizeBytes: 1 };
    const manifest = {
      format: 'rag-serving-model/1',
      name: 'evil',
      version: '1',
      createdAt: '2026-01-01T00:00:00Z',
      kind: 'files',
    };
    writeFileSync(
      key,
      JSON.stringify({
        ...manifest,
        engine: null,
        fingerprint: null,
        golden: null,
        sourceRevision: null,
        files: [file],
      }),
    );
    const error = await failureOf(pullModel('evil', storageOf(), 'evil:1'));
    expect(error.message).toMatch(/files\.0\.path: a path that has a part "\." or "\.\."/);
    expect(existsSync(join(root, 'evil'))).toBe(false);
  });
});

describe('push', () => {
  it('cut off again and again leaves nothing that can be pulled, and goes on where it stopped', async () => {
    mkdirSync(join(root, 'p/1'), { recursive: true });
    const content = randomBytes(50 * 1_024 * 1_024);
    writeFileSync(join(root, 'p/1/model.onnx'), content);
    relay().spoil = ({ url = '' }) =>
      /partNumber=[34]/.test(url) ? { kind: 'error', status: 503, code: 'SlowDown' } : undefined;
    const storage = storageOf();
    expect(await failureOf(pushModel(storage, 'p', 'p'))).toMatchObject({ code: 'REGISTRY_UNAVAILABLE' });
    expect(await failureOf(pullModel('p-out', storage, 'p'))).toMatchObject({ code: 'REGISTRY_NOT_FOUND' });
    relay().spoil = () => undefined;
    relay().seen.length = 0;
    await pushModel(storage, 'p', 'p');
    const parts = relay().seen.filter((line) => line.startsWith('PUT') && line.includes('partNumber='));
    expect(parts.length).toBeLessThan(4);
    await pullModel('p-out', storage, 'p');
    expect(readFileSync(join(root, 'p-out/1/model.onnx')).equals(content)).toBe(true);
  });
});

describe('a full disk', () => {
  const small = join(root, 'small-disk');
  const mounted = mounts(small, '24m');
  afterAll(() => {
    if (mounted) execFileSync('umount', [small]);
  });

  it.skipIf(!mounted)('is told before anything is fetched', async () => {
    const error = await failureOf(pullModel('small-disk/m'));
    expect(error).toMatchObject({ code: 'DISK_FULL' });
    expect(error.message).toMatch(/needs \d+ bytes .* has \d+ free/);
    expect(existsSync(join(small, 'm'))).toBe(false);
    expect(relay().seen.filter((line) => isBlob(line))).toEqual([]);
  });

  it.skipIf(!mounted)('that fills up meanwhile is told, and no blob gets its name', async () => {
    const stage = join(small, 'stage');
    mkdirSync(stage);
    const blob = { sha256: sha256Hex(large), sizeBytes: large.length, copies: [] };
    const tools = { storage: storageOf(), stage, atOnce: 3, patience: PATIENCE, onBytes: () => {} };
    expect(await failureOf(fetchBlob(blob, tools, signal))).toMatchObject({ code: 'DISK_FULL' });
    expect(existsSync(join(stage, blob.sha256))).toBe(false);
  });
});

function mounts(folder: string, size: string): boolean {
  mkdirSync(folder);
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${size}`, 'tmpfs', folder], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
}
