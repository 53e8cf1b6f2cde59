/** What an export of a model needs of a hub: its graph with the weights beside it, its tokenizer and its settings. */
import { join } from 'node:path';
import type { ModelType } from '../../model-config/tensor-contract.ts';
import { readModelFile } from '../../onnx/model-file.ts';
import { dataFilesOf } from '../external-data.ts';
import { chooseFiles } from '../model-files.ts';
import type { HubOptions } from './connection.ts';
import { findOnHub, type HubRequest, type OnFileBytes } from './fetch-files.ts';

export type FetchRequest = HubRequest & {
  readonly type: ModelType;
  readonly onnxFile?: string | undefined;
};

export type FetchedModel = { readonly folder: string; readonly graph: string; readonly commit: string };

/** Throws DEPENDENCY_MISSING for what the hub does not give, ENGINE_MODEL_INVALID for a model that cannot be exported. */
export async function fetchModel(
  hub: HubOptions,
  request: FetchRequest,
  onBytes: OnFileBytes,
  signal: AbortSignal,
): Promise<FetchedModel> {
  const { folder, commit, names, fetching } = await findOnHub(hub, request, onBytes, signal);
  const { graph, others } = chooseFiles(names, { model: request.id, type: request.type, wanted: request.onnxFile });
  await fetching(async (take) => {
    for (const path of [...others, graph]) await take(path);
    const beside = graph.includes('/') ? graph.replace(/[^/]*$/, '') : '';
    for (const data of dataFilesOf(await readModelFile(join(folder, graph)))) await take(`${beside}${data}`);
  });
  return { folder, graph, commit };
}
