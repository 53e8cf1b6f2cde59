/** Whether a pulled folder, or a version in the store, is what its manifest says. Changes nothing. */
import { createHash } from 'node:crypto';
import { ServingError } from '../errors.ts';
import { blobsOf, type StoredManifest } from './manifest.ts';
import { blobKey, parseReference } from './names.ts';
import { inParallel } from './parallel.ts';
import { compareFolder, type FolderFinding, readReceipt } from './receipt.ts';
import { resolve } from './records.ts';
import type { RegistryStorage } from './storage.ts';
import type { Watcher } from './transfer.ts';

export type Verified<F> = { readonly stored: StoredManifest; readonly findings: readonly F[] };

export type BlobFinding = {
  readonly sha256: string;
  /** Files of the model with this content. */
  readonly paths: readonly string[];
  readonly problem: 'missing' | 'wrong size' | 'wrong content';
};

/** `against`: the manifest in the registry instead of the note that the pull left. */
export async function verifyFolder(
  folder: string,
  against: { readonly storage: RegistryStorage; readonly reference: string } | undefined,
  watcher: Watcher,
  signal: AbortSignal,
): Promise<Verified<FolderFinding>> {
  const stored =
    against === undefined
      ? await readReceipt(folder)
      : await resolve(against.storage, parseReference(against.reference), signal);
  if (stored === undefined) {
    throw new ServingError(
      'ARGUMENT_INVALID',
      `${folder} holds no readable note of a pull; name the model that it should be with --against NAME:TAG`,
    );
  }
  const { files } = stored.manifest;
  watcher.begin(
    'verify',
    files.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0),
  );
  return { stored, findings: await compareFolder(folder, files, watcher.moved, signal) };
}

/** `deep` reads every byte; without it only that each blob is there with its size. */
export async function verifyRemote(
  storage: RegistryStorage,
  reference: string,
  options: { readonly deep: boolean; readonly concurrency: number; readonly watcher: Watcher },
  signal: AbortSignal,
): Promise<Verified<BlobFinding>> {
  const stored = await resolve(storage, parseReference(reference), signal);
  const { files } = stored.manifest;
  const blobs = [...blobsOf(files)];
  options.watcher.begin('verify', options.deep ? blobs.reduce((sum, [, sizeBytes]) => sum + sizeBytes, 0) : 0);
  const findings: BlobFinding[] = [];
  const look = async ([sha256, sizeBytes]: readonly [string, number], lookSignal: AbortSignal) => {
    const problem = await blobProblem(storage, sha256, sizeBytes, options, lookSignal);
    if (problem === undefined) return;
    const paths = files.filter((file) => file.sha256 === sha256).map(({ path }) => path);
    findings.push({ sha256, paths, problem });
  };
  await inParallel(blobs, options.concurrency, look, signal);
  return { stored, findings };
}

async function blobProblem(
  storage: RegistryStorage,
  sha256: string,
  sizeBytes: number,
  { deep, watcher }: { readonly deep: boolean; readonly watcher: Watcher },
  signal: AbortSignal,
): Promise<BlobFinding['problem'] | undefined> {
  const key = blobKey(sha256);
  const there = await storage.stat(key, signal);
  if (there === undefined) return 'missing';
  if (there.sizeBytes !== sizeBytes) return 'wrong size';
  if (!deep) return undefined;
  const hash = createHash('sha256');
  let bytes = 0;
  for await (const piece of storage.readRange(key, { start: 0, end: sizeBytes }, signal)) {
    hash.update(piece);
    bytes += piece.length;
    watcher.moved(piece.length);
  }
  if (bytes < sizeBytes) {
    throw new ServingError(
      'REGISTRY_UNAVAILABLE',
      `${storage.address}: reading ${key}: the answer ended at byte ${bytes} of ${sizeBytes}; run it again`,
    );
  }
  return hash.digest('hex') === sha256 ? undefined : 'wrong content';
}
