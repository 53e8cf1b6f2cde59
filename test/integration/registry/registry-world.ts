/** One model in a registry on a real S3 server, behind a relay that can spoil answers; and how it is pushed and pulled. */
import { randomBytes } from 'node:crypto';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, expect } from 'vitest';
import { pull } from '../../../src/registry/pull.ts';
import { push } from '../../../src/registry/push.ts';
import type { S3Options } from '../../../src/registry/s3/s3-client.ts';
import { S3Storage } from '../../../src/registry/s3/s3-storage.ts';
import { unwatched } from '../../../src/registry/transfer.ts';
import { s3OptionsOf } from '../../support/s3-options.ts';
import { S3Relay } from '../../support/s3-relay.ts';
import { useS3 } from '../../support/stack.ts';

export const PATIENCE = { attempts: 3, timeoutMs: 1_000, backoff: { baseMs: 1, maxMs: 5 }, random: Math.random };
const signal = new AbortController().signal;

export function useRegistry() {
  const s3 = useS3();
  const root = mkdtempSync(join(tmpdir(), 'rag-registry-faults-'));
  const large = randomBytes(40 * 1_024 * 1_024);
  const opened: S3Storage[] = [];
  let relay: S3Relay | undefined;

  const theRelay = () => relay ?? expect.fail('the relay is opened before the tests');
  const storageOf = (own: Partial<S3Options> = {}) => {
    const usual = { endpoint: theRelay().url, prefix: 'faults/', timeoutMs: 2_000 };
    const storage = new S3Storage(s3OptionsOf(s3(), { ...usual, ...own }));
    opened.push(storage);
    return storage;
  };
  const pushModel = (storage: S3Storage, folder = 'model', name = 'm', again = false) => {
    const request = { folder: join(root, folder), name, version: undefined, tags: ['latest'], facts: {}, again };
    return push(request, { storage, concurrency: 3, nowMs: Date.now, watcher: unwatched }, signal);
  };
  const pullModel = (folder: string, storage = storageOf(), reference = 'm') => {
    const machine = async () => ({ gpus: undefined, tensorrt: undefined });
    const request = { reference, folder: join(root, folder), machine, allowMismatch: false, replace: false };
    return pull(request, { storage, concurrency: 3, patience: PATIENCE, watcher: unwatched }, signal);
  };

  beforeAll(async () => {
    relay = await S3Relay.open(s3().port);
    mkdirSync(join(root, 'model/1'), { recursive: true });
    writeFileSync(join(root, 'model/1/model.onnx'), large);
    writeFileSync(join(root, 'model/config.pbtxt'), 'name: "m"');
    await pushModel(storageOf());
  });
  afterEach(() => {
    theRelay().spoil = () => undefined;
    theRelay().seen.length = 0;
  });
  afterAll(async () => {
    for (const storage of opened) storage.close();
    await relay?.close();
    rmSync(root, { recursive: true, force: true });
  });
  return { s3, root, large, relay: theRelay, storageOf, pushModel, pullModel };
}

export const isBlob = (url = '') => url.includes('/blobs/');

export function failureOf(work: Promise<unknown>): Promise<Error & { code: string }> {
  return work.then(
    () => expect.fail('it succeeded'),
    (error: Error & { code: string }) => error,
  );
}
