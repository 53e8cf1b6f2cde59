/**
 * A version of a model into a folder: refused when it is for another machine, made whole beside the folder, checked, and only
 * then given its name. What is there stays until that moment; what has arrived stays after a failure, for the next try.
 */
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { ServingError } from '../errors.ts';
import { refuseMismatch, type ThisMachine } from './compatibility.ts';
import { type Blob, bytesInStage, fetchBlob } from './fetch-blob.ts';
import type { Patience } from './fetch-range.ts';
import { asFileError } from './file-errors.ts';
import { withFolderLock } from './folder-lock.ts';
import { blobsOf, type StoredManifest } from './manifest.ts';
import { parseReference } from './names.ts';
import { inParallel } from './parallel.ts';
import { assemble, freeBytesAt, isEmptyOrAbsent, type Place, placeOf, recover, switchOver } from './place.ts';
import { isIntact, type Receipt, readReceipt, writeReceipt } from './receipt.ts';
import { resolve } from './records.ts';
import type { RegistryStorage } from './storage.ts';
import type { Watcher } from './transfer.ts';

export type PullRequest = {
  readonly reference: string;
  readonly folder: string;
  /** Asked only for an engine. */
  readonly machine: () => Promise<ThisMachine>;
  readonly allowMismatch: boolean;
  /** Take the place of files that no pull wrote. */
  readonly replace: boolean;
};

export type PullResult = {
  readonly name: string;
  readonly version: string;
  readonly sha256: string;
  readonly folder: string;
  readonly files: number;
  readonly totalBytes: number;
  /** The folder held it already, and it is intact. */
  readonly unchanged: boolean;
};

export type PullTools = {
  readonly storage: RegistryStorage;
  readonly concurrency: number;
  readonly patience: Patience;
  readonly watcher: Watcher;
};

/** For how long one pull waits for another that is at the same folder. */
const LOCK_WAIT_MS = 60 * 60_000;
/** Left free beside what is pulled: a disk that is full to the last byte stops more than this. */
const SPARE_BYTES = 64 * 1_024 * 1_024;

export async function pull(request: PullRequest, tools: PullTools, signal: AbortSignal): Promise<PullResult> {
  const { storage, watcher } = tools;
  const stored = await resolve(storage, parseReference(request.reference), signal);
  const { manifest, sha256 } = stored;
  if (manifest.engine !== null && !request.allowMismatch) {
    refuseMismatch(`${manifest.name}:${manifest.version}`, manifest.engine, await request.machine());
  }
  const place = await placeOf(request.folder);
  const onWait = () => watcher.note(`another pull is at ${place.folder}; waiting for it`);
  const unchanged = await withFolderLock(
    place.lock,
    { waitMs: LOCK_WAIT_MS, onWait },
    (held) => pullUnderLock(stored, place, request, tools, held),
    signal,
  );
  const { files, name, version } = manifest;
  const totalBytes = files.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0);
  return { name, version, sha256, folder: place.folder, files: files.length, totalBytes, unchanged };
}

async function pullUnderLock(
  stored: StoredManifest,
  place: Place,
  { replace }: PullRequest,
  tools: PullTools,
  signal: AbortSignal,
): Promise<boolean> {
  await recover(place);
  const receipt = await readReceipt(place.folder);
  if (receipt?.sha256 === stored.sha256 && (await isIntact(place.folder, receipt, signal))) return true;
  if (receipt === undefined && !replace && !(await isEmptyOrAbsent(place.folder))) {
    throw new ServingError(
      'ARGUMENT_INVALID',
      `${place.folder} holds files that no pull wrote; name another folder, or add --replace to lose them`,
    );
  }
  const blobs = blobsToFetch(stored, place, receipt);
  await mkdir(place.blobs, { recursive: true }).catch((error: unknown) => {
    throw asFileError(error, `making ${place.blobs}`);
  });
  await refuseFullDisk(place, blobs);
  await fetchAll(place, blobs, tools, signal);
  await assemble(place, stored.manifest.files);
  await writeReceipt(place.tree, tools.storage.address, stored);
  signal.throwIfAborted();
  await switchOver(place);
  return false;
}

function blobsToFetch({ manifest }: StoredManifest, { folder }: Place, receipt: Receipt | undefined): readonly Blob[] {
  const here = receipt?.manifest.files ?? [];
  return [...blobsOf(manifest.files)].map(([sha256, sizeBytes]) => ({
    sha256,
    sizeBytes,
    copies: here.filter((file) => file.sha256 === sha256).map(({ path }) => join(folder, path)),
  }));
}

async function refuseFullDisk(place: Place, blobs: readonly Blob[]): Promise<void> {
  let needed = SPARE_BYTES;
  for (const blob of blobs) needed += blob.sizeBytes - (await bytesInStage(place.blobs, blob));
  const free = await freeBytesAt(place.stage);
  if (needed === SPARE_BYTES || needed <= free) return;
  throw new ServingError(
    'DISK_FULL',
    `${place.folder}: pulling needs ${needed} bytes (${SPARE_BYTES} of them to spare) and its disk has ${free} free; free space, or name a folder on another disk`,
  );
}

async function fetchAll(
  place: Place,
  blobs: readonly Blob[],
  { storage, concurrency, patience, watcher }: PullTools,
  signal: AbortSignal,
): Promise<void> {
  watcher.begin(
    'pull',
    blobs.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0),
  );
  const tools = { storage, stage: place.blobs, atOnce: concurrency, patience, onBytes: watcher.moved };
  // As for a push: small ones several at once, large ones by ranges.
  const isLarge = ({ sizeBytes }: Blob) => sizeBytes > LARGE_BYTES;
  const fetchOne = (blob: Blob, blobSignal: AbortSignal) => fetchBlob(blob, tools, blobSignal);
  await inParallel(
    blobs.filter((blob) => !isLarge(blob)),
    concurrency,
    fetchOne,
    signal,
  );
  await inParallel(blobs.filter(isLarge), 1, fetchOne, signal);
}

const LARGE_BYTES = 16 * 1_024 * 1_024;
