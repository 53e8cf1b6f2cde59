/** A model of a hub as a folder in the cache, with the files that an export needs. A second run finds them there. */
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { ServingError } from '../../../src/errors.ts';
import { readModelFile } from '../../onnx/model-file.ts';
import { withFileLock } from '../../stack/lock.ts';
import { dataFilesOf } from '../external-data.ts';
import { chooseFiles, type ModelType } from '../model-files.ts';
import type { HubOptions } from './connection.ts';
import { describeModel, type HubFile } from './description.ts';
import { downloadFile } from './download.ts';

export type FetchRequest = {
  readonly id: string;
  readonly revision: string;
  readonly type: ModelType;
  readonly onnxFile?: string | undefined;
  /** Models lie below it, by name and commit. */
  readonly cacheDir: string;
};

export type FetchedModel = { readonly folder: string; readonly graph: string; readonly commit: string };

/** Takes the name of a file, the bytes that are there, and all it has. */
export type OnFileBytes = (path: string, bytes: number, ofBytes: number) => void;

const LOCK_TIMEOUT_MS = 60 * 60_000;
const HUB_ID = /^[\w.-]+(\/[\w.-]+)?$/;

/** Throws DEPENDENCY_MISSING for what the hub does not give, ENGINE_MODEL_INVALID for a model that cannot be exported. */
export async function fetchModel(
  hub: HubOptions,
  request: FetchRequest,
  onBytes: OnFileBytes,
  signal: AbortSignal,
): Promise<FetchedModel> {
  if (!HUB_ID.test(request.id) || request.id.includes('..')) {
    throw new ServingError(
      'ARGUMENT_INVALID',
      `--model ${request.id} is neither a folder nor a model id like owner/name`,
    );
  }
  const model = await describeModel(hub, request.id, request.revision, signal);
  const names = model.files.map(({ path }) => path);
  const choice = chooseFiles(names, { model: request.id, type: request.type, wanted: request.onnxFile });
  const folder = join(request.cacheDir, 'hub', request.id.replace('/', '--'), model.commit);
  await mkdir(folder, { recursive: true });

  const take = async (path: string) => {
    const file = model.files.find((entry) => entry.path === path);
    if (file === undefined) throw new ServingError('ENGINE_MODEL_INVALID', `${request.id} lacks its weights ${path}`);
    await downloadFile(hub, model, file, join(folder, path), bytesOf(file, onBytes), signal);
  };
  // Two exports that start together must not write one .part.
  await withFileLock(join(folder, '.lock'), { timeoutMs: LOCK_TIMEOUT_MS }, async () => {
    for (const path of [...choice.others, choice.graph]) await take(path);
    const beside = choice.graph.includes('/') ? choice.graph.replace(/[^/]*$/, '') : '';
    for (const data of dataFilesOf(await readModelFile(join(folder, choice.graph)))) await take(`${beside}${data}`);
  });
  return { folder, graph: choice.graph, commit: model.commit };
}

function bytesOf({ path, sizeBytes }: HubFile, onBytes: OnFileBytes): (bytes: number) => void {
  return (bytes) => onBytes(path, bytes, sizeBytes);
}
