/**
 * A blob into the stage: `<sha256>.part` with the ranges that have arrived in `<sha256>.ranges`, and under its own name only
 * when its SHA-256 is that name. A part that does not have it in the end is fetched once more, from its first byte.
 */
import { constants } from 'node:fs';
import { appendFile, copyFile, open, readFile, rename, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { ServingError } from '../errors.ts';
import { sha256OfFile } from '../sha256-file.ts';
import { fetchRange, type Patience } from './fetch-range.ts';
import { asFileError } from './file-errors.ts';
import { blobKey } from './names.ts';
import { inParallel } from './parallel.ts';
import { partRanges } from './parts.ts';
import type { RegistryStorage } from './storage.ts';

export type Blob = {
  readonly sha256: string;
  readonly sizeBytes: number;
  /** Files here that should have the same content. */
  readonly copies: readonly string[];
};

export type FetchTools = {
  readonly storage: RegistryStorage;
  readonly stage: string;
  readonly atOnce: number;
  readonly patience: Patience;
  /** Negative when bytes must be fetched again. */
  readonly onBytes: (bytes: number) => void;
};

const TRIES = 2;

export async function fetchBlob(blob: Blob, tools: FetchTools, signal: AbortSignal): Promise<void> {
  const { stage, onBytes, storage } = tools;
  const whole = join(stage, blob.sha256);
  if ((await sizeOf(whole)) === blob.sizeBytes) return onBytes(blob.sizeBytes);
  const part = `${whole}.part`;
  const ranges = `${whole}.ranges`;
  for (const copy of blob.copies) {
    if (!(await copied(copy, part, blob, signal))) continue;
    await rm(ranges, { force: true });
    await rename(part, whole);
    return onBytes(blob.sizeBytes);
  }
  for (let attempt = 1; attempt <= TRIES; attempt++) {
    await fillPart(blob, part, ranges, tools, signal);
    if ((await sha256OfFile(part, signal)) === blob.sha256) {
      await rename(part, whole);
      return await rm(ranges, { force: true });
    }
    await Promise.all([rm(part, { force: true }), rm(ranges, { force: true })]);
    onBytes(-blob.sizeBytes);
  }
  throw new ServingError(
    'REGISTRY_CORRUPT',
    `${storage.address}: ${blobKey(blob.sha256)} has another content than its name says (wrong checksum, twice): it was altered in the store, or by a proxy on the way. "models verify --remote --deep" tells which; "models push --again" mends it`,
  );
}

/** Bytes on the disk that need not be fetched again. */
export async function bytesInStage(stage: string, { sha256, sizeBytes }: Blob): Promise<number> {
  if ((await sizeOf(join(stage, sha256))) === sizeBytes) return sizeBytes;
  const part = await stat(join(stage, `${sha256}.part`)).catch(() => undefined);
  // Blocks: the file has its whole length, and holes where nothing has arrived.
  return Math.min(sizeBytes, (part?.blocks ?? 0) * 512);
}

async function fillPart(
  blob: Blob,
  part: string,
  ranges: string,
  { storage, atOnce, patience, onBytes }: FetchTools,
  signal: AbortSignal,
): Promise<void> {
  const key = blobKey(blob.sha256);
  const done = (await sizeOf(part)) === blob.sizeBytes ? await rangesIn(ranges) : new Set<string>();
  const all = blob.sizeBytes === 0 ? [] : partRanges(blob.sizeBytes);
  const missing = all.filter((range) => !done.has(`${range.start}-${range.end}`));
  const missingBytes = missing.reduce((sum, { start, end }) => sum + end - start, 0);
  onBytes(blob.sizeBytes - missingBytes);
  try {
    const target = await open(part, done.size > 0 ? 'r+' : 'w');
    try {
      await target.truncate(blob.sizeBytes);
      if (done.size === 0) await rm(ranges, { force: true });
      const fetchOne = async (range: (typeof all)[number], rangeSignal: AbortSignal) => {
        await fetchRange({ storage, key, range, target, patience, onBytes }, rangeSignal);
        await appendFile(ranges, `${range.start}-${range.end}\n`);
      };
      await inParallel(missing, atOnce, fetchOne, signal);
      await target.sync();
    } finally {
      await target.close();
    }
  } catch (error) {
    throw asFileError(error, `keeping ${key}`);
  }
}

/** A line that was cut off by a kill is none. */
async function rangesIn(file: string): Promise<Set<string>> {
  const text = await readFile(file, 'utf8').catch(() => '');
  return new Set(
    text
      .slice(0, text.lastIndexOf('\n') + 1)
      .split('\n')
      .filter((line) => /^\d+-\d+$/.test(line)),
  );
}

async function copied(from: string, to: string, { sha256, sizeBytes }: Blob, signal: AbortSignal): Promise<boolean> {
  if ((await sizeOf(from)) !== sizeBytes) return false;
  try {
    await copyFile(from, to, constants.COPYFILE_FICLONE);
    if ((await sha256OfFile(to, signal)) === sha256) return true;
  } catch (error) {
    signal.throwIfAborted();
    throw asFileError(error, 'copying a file of the version that is there');
  }
  await rm(to, { force: true });
  return false;
}

async function sizeOf(path: string): Promise<number | undefined> {
  const found = await stat(path).catch(() => undefined);
  return found?.isFile() === true ? found.size : undefined;
}
