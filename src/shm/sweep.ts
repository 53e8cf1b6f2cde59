/**
 * Removes what dead incarnations of our own worker id left: registrations by name, and files.
 *
 * Two moments. Before our region is made, by the files in the mount: a server that still maps a dead region keeps its
 * memory from us. After our region is registered, by the server's list: only then is it sure that the server shares
 * our mount, so a name of our worker id that is not ours there cannot belong to a living worker on another machine.
 *
 * Only regular files and sockets are removed, never through a symlink. Whatever cannot be removed is reported and left:
 * it holds memory, not correctness.
 */
import { lstat, unlink } from 'node:fs/promises';
import { join } from 'node:path';
import { asServingError, type ServingError } from '../errors.ts';
import type { InferenceClient } from '../inference/client.ts';
import { belongsTo, ownerFileName, parseName, regionName } from './region-name.ts';

export type SweepReport = {
  /** Names of files and registrations that are gone now. */
  readonly files: readonly string[];
  readonly registrations: readonly string[];
  readonly left: readonly { readonly name: string; readonly why: string }[];
};

export type DeadFiles = {
  readonly basePath: string;
  readonly workerId: string;
  /** Nonces from claimIncarnation. */
  readonly dead: readonly string[];
};

export async function sweepDead(client: InferenceClient, found: DeadFiles, timeoutMs: number): Promise<SweepReport> {
  const { registrations, left } = await unregisterAll(client, await namesOf(client, found, timeoutMs), timeoutMs);
  const files: string[] = [];
  for (const nonce of found.dead) {
    // The owner socket goes last: a sweep that is killed half-way is taken up by the next one.
    for (const file of [regionName(found.workerId, nonce), ownerFileName(found.workerId, nonce)]) {
      const outcome = await removeFile(join(found.basePath, file));
      if (outcome === 'removed') files.push(file);
      else if (outcome !== 'absent') left.push({ name: file, why: outcome });
    }
  }
  return { files, registrations, left };
}

/** By the names of the files, and by the server's list: a region may have been registered more than once. */
async function namesOf(client: InferenceClient, { workerId, dead }: DeadFiles, timeoutMs: number): Promise<string[]> {
  const names = new Set(dead.map((nonce) => regionName(workerId, nonce)));
  try {
    for (const { name } of await client.listSharedMemory({ timeoutMs })) {
      if (isRegionOf(name, workerId) && dead.includes(parseName(name)?.nonce ?? '')) names.add(name);
    }
  } catch {
    // A server that is away, or takes no shared memory, answers the same to what follows.
  }
  return [...names];
}

/** Call it only after `ownName` was registered with this server. */
export async function sweepRegistrations(
  client: InferenceClient,
  workerId: string,
  ownName: string,
  timeoutMs: number,
): Promise<SweepReport> {
  let names: string[];
  try {
    const regions = await client.listSharedMemory({ timeoutMs });
    names = regions.map((region) => region.name).filter((name) => name !== ownName && isRegionOf(name, workerId));
  } catch (error) {
    return { files: [], registrations: [], left: [{ name: client.target, why: describe(asServingError(error)) }] };
  }
  return { files: [], ...(await unregisterAll(client, names, timeoutMs)) };
}

function isRegionOf(name: string, workerId: string): boolean {
  const parsed = parseName(name);
  return parsed?.kind === 'region' && belongsTo(parsed, workerId);
}

async function unregisterAll(client: InferenceClient, names: readonly string[], timeoutMs: number) {
  const registrations: string[] = [];
  const left: { name: string; why: string }[] = [];
  let serverDown: ServingError | undefined;
  for (const name of names) {
    try {
      // A server that is away holds no region back for long, and a row of timeouts would hold the start back.
      if (serverDown !== undefined) throw serverDown;
      await client.unregisterSharedMemory(name, { timeoutMs });
      registrations.push(name);
    } catch (cause) {
      const error = asServingError(cause);
      if (error.code === 'INFERENCE_UNAVAILABLE' || error.code === 'INFERENCE_DEADLINE') serverDown = error;
      // A server that takes no client regions has none to forget.
      if (error.code !== 'SHM_UNSUPPORTED') left.push({ name, why: describe(error) });
    }
  }
  return { registrations, left };
}

async function removeFile(path: string): Promise<string> {
  try {
    const found = await lstat(path);
    if (!found.isFile() && !found.isSocket()) return 'neither a file nor a socket, so none of ours';
    await unlink(path);
    return 'removed';
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : 'unknown error';
    return code === 'ENOENT' ? 'absent' : `cannot be removed (${code})`;
  }
}

function describe(error: ServingError): string {
  return `${error.code}: ${error.message}`;
}
