/**
 * Removes what no version needs: blobs of pushes that were cut off, and uploads that were never ended. Only what is older than
 * the grace time, so that a push on its way keeps what it has sent; how one that publishes meanwhile is kept safe is told in
 * gc-notice.ts.
 */
import { randomBytes } from 'node:crypto';
import { ServingError } from '../errors.ts';
import { dropNotice, GC_MAX_MS, takeNotice } from './gc-notice.ts';
import { BLOBS } from './names.ts';
import { inParallel } from './parallel.ts';
import { listRecords, readVersions } from './records.ts';
import type { RegistryStorage, StoredObject, Upload } from './storage.ts';

export type GcRequest = {
  readonly graceMs: number;
  readonly remove: boolean;
  readonly concurrency: number;
  readonly nowMs: () => number;
};

export type GcResult = {
  readonly removed: boolean;
  readonly versions: number;
  readonly blobs: readonly StoredObject[];
  readonly uploads: readonly Upload[];
  readonly bytes: number;
  /** The time was up; another run goes on. */
  readonly partial: boolean;
};

/** Left at the end for a removal that is on its way. */
const MARGIN_MS = 60_000;

export async function collectGarbage(
  storage: RegistryStorage,
  request: GcRequest,
  signal: AbortSignal,
): Promise<GcResult> {
  if (!request.remove) return await collect(storage, request, signal);
  const owner = randomBytes(12).toString('hex');
  await takeNotice(storage, owner, request.nowMs(), signal);
  try {
    return await collect(storage, request, signal);
  } finally {
    await dropNotice(storage, owner, AbortSignal.timeout(MARGIN_MS));
  }
}

async function collect(storage: RegistryStorage, request: GcRequest, signal: AbortSignal): Promise<GcResult> {
  const { graceMs, remove, concurrency, nowMs } = request;
  const startedAt = nowMs();
  const isOld = (atMs: number) => startedAt - atMs > graceMs;
  const records = await listRecords(storage, undefined, signal);
  // A manifest that cannot be read stops everything here: what it needs is not known.
  const versions = await readVersions(storage, records, signal);
  const needed = new Set(versions.flatMap(({ manifest }) => manifest.files.map(({ sha256 }) => sha256)));
  const blobs: StoredObject[] = [];
  for await (const blob of storage.list(BLOBS, signal)) {
    const name = blob.key.slice(BLOBS.length);
    if (/^[0-9a-f]{64}$/.test(name) && !needed.has(name) && isOld(blob.modifiedAtMs)) blobs.push(blob);
  }
  const uploads: Upload[] = [];
  for await (const upload of storage.listUploads(BLOBS, signal)) if (isOld(upload.startedAtMs)) uploads.push(upload);
  if (!remove) return resultOf(false, versions.length, blobs, uploads, false);

  const gone: StoredObject[] = [];
  const ended: Upload[] = [];
  const inTime = () => nowMs() - startedAt < GC_MAX_MS - MARGIN_MS;
  const removeBlob = async (blob: StoredObject, workSignal: AbortSignal) => {
    if (!inTime()) return;
    await storage.remove(blob.key, workSignal);
    gone.push(blob);
  };
  const endUpload = async (upload: Upload, workSignal: AbortSignal) => {
    if (!inTime()) return;
    await storage.abortUpload(upload, workSignal);
    ended.push(upload);
  };
  await inParallel(blobs, concurrency, removeBlob, signal);
  await inParallel(uploads, concurrency, endUpload, signal);
  const partial = gone.length < blobs.length || ended.length < uploads.length;
  return resultOf(true, versions.length, gone, ended, partial);
}

function resultOf(
  removed: boolean,
  versions: number,
  blobs: readonly StoredObject[],
  uploads: readonly Upload[],
  partial: boolean,
): GcResult {
  return {
    removed,
    versions,
    blobs,
    uploads,
    partial,
    bytes: blobs.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0),
  };
}

/** As `24h`, `30m`, `7d`. */
export function parseDuration(text: string): number {
  const [, digits, unit] = /^(\d{1,6})([mhd])$/.exec(text) ?? [];
  if (digits === undefined || unit === undefined) {
    throw new ServingError('ARGUMENT_INVALID', 'a time is a number with m, h or d, such as 24h');
  }
  return Number(digits) * { m: 60_000, h: 3_600_000, d: 86_400_000 }[unit as 'm' | 'h' | 'd'];
}
