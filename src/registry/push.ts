/**
 * Puts a folder into the registry as one version of a model: blobs first, then the manifest, then the tags. What is cut off
 * before the manifest is there can be pulled by nobody; a tag never points at a version that is not whole.
 *
 * Pushing the same again sends nothing: blobs are known by their content, and the version is, unless given, the beginning of
 * the content's digest.
 */
import { ServingError } from '../errors.ts';
import { describeFolder, type FolderFacts } from './describe-folder.ts';
import { untilNobodyCollects } from './gc-notice.ts';
import { type HashedFile, hashFile } from './hash-file.ts';
import { contentDigest, encodeManifest, MANIFEST_FORMAT, type Manifest } from './manifest.ts';
import { blobKey, checkedName, versionKey } from './names.ts';
import { inParallel } from './parallel.ts';
import { readTag, readVersion, writeTag } from './records.ts';
import { scanFolder } from './scan.ts';
import type { RegistryStorage } from './storage.ts';
import type { Watcher } from './transfer.ts';

export type PushRequest = {
  readonly folder: string;
  readonly name: string;
  readonly version: string | undefined;
  readonly tags: readonly string[];
  readonly facts: FolderFacts;
  /** Send every blob, also those that are there. */
  readonly again: boolean;
};

export type PushResult = {
  readonly name: string;
  readonly version: string;
  readonly sha256: string;
  readonly tags: readonly string[];
  readonly files: number;
  readonly totalBytes: number;
  readonly sentBytes: number;
  /** The version and its tags were there already. */
  readonly unchanged: boolean;
};

export type Tools = {
  readonly storage: RegistryStorage;
  /** Files and parts at once. */
  readonly concurrency: number;
  readonly nowMs: () => number;
  readonly watcher: Watcher;
};

const SHORT = 12;

export async function push(request: PushRequest, tools: Tools, signal: AbortSignal): Promise<PushResult> {
  const { storage, watcher, nowMs } = tools;
  const name = checkedName('name', request.name);
  const tags = request.tags.map((tag) => checkedName('tag', tag));
  const files = await hashed(request.folder, watcher, signal);
  const described = { format: MANIFEST_FORMAT, ...(await describeFolder(files, request.facts)) } as const;
  const digest = contentDigest(described);
  const version = checkedName('version', request.version ?? digest.slice(0, SHORT));
  const manifest: Manifest = { ...described, name, version, createdAt: new Date(nowMs()).toISOString() };

  const before = await readVersion(storage, name, version, signal);
  if (before !== undefined) refuseOtherContent(before.manifest, digest, storage.address);
  const blobs = [...new Map(files.map((file) => [file.sha256, file])).values()];
  let sentBytes = await sendMissing(blobs, request.again, tools, signal);
  await untilNobodyCollects(storage, nowMs, () => watcher.note('waiting for a collection to end'), signal);
  sentBytes += await sendMissing(blobs, false, tools, signal);
  const sha256 = before?.sha256 ?? (await publish(manifest, digest, storage, signal));
  // Whoever collected meanwhile had not seen the manifest.
  await untilNobodyCollects(storage, nowMs, () => watcher.note('waiting for a collection to end'), signal);
  if (before === undefined) sentBytes += await sendMissing(blobs, false, tools, signal);

  let retagged = false;
  for (const tag of tags) {
    const now = await readTag(storage, name, tag, signal);
    if (now?.sha256 === sha256 && now.version === version) continue;
    await writeTag(storage, name, tag, { version, sha256 }, signal);
    retagged = true;
  }
  const totalBytes = files.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0);
  const unchanged = before !== undefined && !retagged && sentBytes === 0;
  return { name, version, sha256, tags, files: files.length, totalBytes, sentBytes, unchanged };
}

async function hashed(folder: string, watcher: Watcher, signal: AbortSignal): Promise<readonly HashedFile[]> {
  const scanned = await scanFolder(folder);
  const total = scanned.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0);
  watcher.begin('hash', total);
  const files: HashedFile[] = [];
  // One after the other: hashing is bound by one core, or the disk.
  for (const file of scanned) files.push(await hashFile(file, watcher.moved, signal));
  return files;
}

/** Bytes that were not there. */
async function sendMissing(
  blobs: readonly HashedFile[],
  again: boolean,
  { storage, concurrency, watcher }: Tools,
  signal: AbortSignal,
): Promise<number> {
  const missing: HashedFile[] = [];
  const look = async (file: HashedFile, lookSignal: AbortSignal) => {
    const there = again ? undefined : await storage.stat(blobKey(file.sha256), lookSignal);
    if (there?.sizeBytes !== file.sizeBytes) missing.push(file);
  };
  await inParallel(blobs, concurrency, look, signal);
  if (missing.length === 0) return 0;
  const total = missing.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0);
  watcher.begin('push', total);
  // Large files one after the other, each in parts at once; small ones several at once.
  const small = missing.filter(({ source }) => source.partMd5.length === 1);
  const large = missing.filter(({ source }) => source.partMd5.length > 1);
  const send = ({ sha256, source }: HashedFile, sendSignal: AbortSignal) =>
    storage.writeBlob(blobKey(sha256), source, watcher.moved, sendSignal);
  await inParallel(small, concurrency, send, signal);
  await inParallel(large, 1, send, signal);
  return total;
}

/** The digest of the manifest that is there afterwards. */
async function publish(
  manifest: Manifest,
  digest: string,
  storage: RegistryStorage,
  signal: AbortSignal,
): Promise<string> {
  const { bytes, sha256 } = encodeManifest(manifest);
  const key = versionKey(manifest.name, manifest.version);
  if ((await storage.writeSmall(key, bytes, 'absent', signal)) === 'written') return sha256;
  // Another push of the same, or our own write whose answer was lost.
  const there = await readVersion(storage, manifest.name, manifest.version, signal);
  if (there === undefined) {
    throw new ServingError('REGISTRY_CONFLICT', `${storage.address}: ${key} appeared and vanished; push again`);
  }
  refuseOtherContent(there.manifest, digest, storage.address);
  return there.sha256;
}

function refuseOtherContent(there: Manifest, digest: string, address: string): void {
  if (contentDigest(there) === digest) return;
  throw new ServingError(
    'REGISTRY_CONFLICT',
    `${address}: ${there.name}:${there.version} is there with other content, and a version never changes; push it as name:another-version`,
  );
}
