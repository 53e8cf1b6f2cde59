/**
 * One file of a hub onto the disk: gone on with where it stopped, checked, and only then given its name.
 *
 * The part that has arrived lies in `<name>.part`. A commit's files never change, so what it holds stays good; the
 * checksum over the whole file has the last word, and a file that fails it is fetched once more from its first byte.
 */
import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { mkdir, open, rename, rm, stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { ServingError } from '../../../src/errors.ts';
import { type Alive, get, type HubOptions, withRetries } from './connection.ts';
import type { HubFile, HubModel } from './description.ts';

/** Takes the bytes of the file that are there. */
export type OnBytes = (bytes: number) => void;

/** Throws DEPENDENCY_MISSING; the part that has arrived stays for the next time. */
export async function downloadFile(
  hub: HubOptions,
  model: Pick<HubModel, 'id' | 'commit'>,
  file: HubFile,
  target: string,
  onBytes: OnBytes,
  signal: AbortSignal,
): Promise<void> {
  if (await matches(target, file)) return;
  await mkdir(dirname(target), { recursive: true });
  const part = `${target}.part`;
  const path = `/${model.id}/resolve/${model.commit}/${file.path.split('/').map(encodeURIComponent).join('/')}`;
  for (const lastChance of [false, true]) {
    let furthest = 0;
    const attempt = (alive: Alive, attemptSignal: AbortSignal) => {
      const arrived = (bytes: number) => {
        // A server that knows no ranges and breaks at the same byte each time brings nothing nearer.
        alive(bytes > furthest);
        furthest = Math.max(furthest, bytes);
        onBytes(bytes);
      };
      return fetchRest({ hub, path, part, file, arrived }, attemptSignal);
    };
    await withRetries(hub, file.path, attempt, signal);
    if (await matches(part, file)) return await rename(part, target);
    await rm(part, { force: true });
    if (!lastChance) hub.onProgress?.(`${file.path}: the checksum is wrong; fetching it once more`);
  }
  throw new ServingError(
    'DEPENDENCY_MISSING',
    `${file.path}: what arrives twice does not have the checksum that the hub names: a proxy or mirror changes it; use another HF_ENDPOINT`,
  );
}

type Fetch = {
  readonly hub: HubOptions;
  readonly path: string;
  readonly part: string;
  readonly file: HubFile;
  readonly arrived: OnBytes;
};

async function fetchRest({ hub, path, part, file, arrived }: Fetch, signal: AbortSignal): Promise<void> {
  const have = await sizeOf(part);
  if (have === file.sizeBytes && have > 0) return;
  // More than the file has: left by something else.
  const from = have > file.sizeBytes ? 0 : have;
  const response = await get(hub, path, from > 0 ? { range: `bytes=${from}-` } : {}, signal);
  if (response.status === 416 || response.body === null) {
    await response.body?.cancel();
    await rm(part, { force: true });
    throw new Error('the range was refused');
  }
  // A server or proxy that knows no ranges sends it all again.
  const start = response.status === 206 ? from : 0;
  let bytes = start;
  // Each chunk is on the disk before the next is read: a stream between would drop what it holds when the line breaks.
  const target = await open(part, start > 0 ? 'a' : 'w');
  try {
    for await (const chunk of response.body) {
      bytes += chunk.length;
      if (bytes > file.sizeBytes) break;
      await target.writeFile(chunk);
      arrived(bytes);
    }
  } finally {
    await target.close();
  }
  if (bytes < file.sizeBytes) throw new Error(`the answer ended at ${bytes} of ${file.sizeBytes} bytes`);
}

async function sizeOf(path: string): Promise<number> {
  return (await stat(path).catch(() => undefined))?.size ?? 0;
}

async function matches(path: string, { sizeBytes, checksum }: HubFile): Promise<boolean> {
  const found = await stat(path).catch(() => undefined);
  if (found?.isFile() !== true || found.size !== sizeBytes) return false;
  const hash = createHash(checksum.kind === 'sha256' ? 'sha256' : 'sha1');
  if (checksum.kind === 'git-sha1') hash.update(`blob ${sizeBytes}\0`);
  await pipeline(createReadStream(path), hash);
  return hash.digest('hex') === checksum.hex;
}
