/** Files of a model on a hub, in a folder of the cache that is named after model and commit. A second run finds them there. */
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { ServingError } from '../../../src/errors.ts';
import { withFileLock } from '../../stack/lock.ts';
import type { HubOptions } from './connection.ts';
import { describeModel, type HubFile } from './description.ts';
import { downloadFile } from './download.ts';

export type HubRequest = {
  readonly id: string;
  readonly revision: string;
  /** Models lie below it, by name and commit. */
  readonly cacheDir: string;
};

export type HubFolder = {
  readonly folder: string;
  readonly commit: string;
  /** What the hub has of the model. */
  readonly names: readonly string[];
  /** Runs `work` with the folder locked: two exports that start together must not write one .part. */
  fetching(work: (take: Take) => Promise<void>): Promise<void>;
};

/** Brings one file into the folder. Throws DEPENDENCY_MISSING; ENGINE_MODEL_INVALID for a file that the hub does not have. */
export type Take = (path: string) => Promise<void>;

/** Takes the name of a file, the bytes that are there, and all it has. */
export type OnFileBytes = (path: string, bytes: number, ofBytes: number) => void;

const LOCK_TIMEOUT_MS = 60 * 60_000;
const HUB_ID = /^[\w.-]+(\/[\w.-]+)?$/;

/** Asks the hub what it has of a model. Throws DEPENDENCY_MISSING, or ARGUMENT_INVALID for what is no model id. */
export async function findOnHub(
  hub: HubOptions,
  { id, revision, cacheDir }: HubRequest,
  onBytes: OnFileBytes,
  signal: AbortSignal,
): Promise<HubFolder> {
  if (!HUB_ID.test(id) || id.includes('..')) {
    throw new ServingError('ARGUMENT_INVALID', `--model ${id} is neither a folder nor a model id like owner/name`);
  }
  const model = await describeModel(hub, id, revision, signal);
  const folder = join(cacheDir, 'hub', id.replace('/', '--'), model.commit);
  const take = async (path: string) => {
    const file = model.files.find((entry) => entry.path === path);
    if (file === undefined) throw new ServingError('ENGINE_MODEL_INVALID', `${id} lacks its file ${path}`);
    await downloadFile(hub, model, file, join(folder, path), bytesOf(file, onBytes), signal);
  };
  return {
    folder,
    commit: model.commit,
    names: model.files.map(({ path }) => path),
    fetching: async (work) => {
      await mkdir(folder, { recursive: true });
      await withFileLock(join(folder, '.lock'), { timeoutMs: LOCK_TIMEOUT_MS }, () => work(take));
    },
  };
}

function bytesOf({ path, sizeBytes }: HubFile, onBytes: OnFileBytes): (bytes: number) => void {
  return (bytes) => onBytes(path, bytes, sizeBytes);
}
