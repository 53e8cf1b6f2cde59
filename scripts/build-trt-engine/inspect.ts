/** One look at an ONNX file: what it is, what it weighs, and whether an engine can be built from it. */
import { stat } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { ServingError } from '../../src/errors.ts';
import { sha256OfFile } from '../../src/sha256-file.ts';
import { dataFilesOf } from '../export-onnx/external-data.ts';
import { embeddingTables } from '../export-onnx/graph/embedding-tables.ts';
import { inferTypes } from '../export-onnx/graph/value-types.ts';
import type { EncoderInput } from '../model-config/tensor-contract.ts';
import type { ModelProto } from '../onnx/gen/onnx_pb.ts';
import { readModelFile } from '../onnx/model-file.ts';
import { graphFaults, inputsOf, propertiesOf, type Wanted } from './graph-checks.ts';

export type FileFacts = { readonly file: string; readonly bytes: number; readonly sha256: string };

export type ModelFacts = {
  readonly source: FileFacts;
  readonly sourceData: FileFacts | null;
  readonly fingerprint: Readonly<Record<string, string>>;
  readonly inputs: readonly EncoderInput[];
  readonly vocabulary: number | undefined;
};

/** Throws ENGINE_MODEL_INVALID naming everything that is in the way. */
export async function inspectModel(path: string, wanted: Wanted): Promise<ModelFacts> {
  const model = await readModelFile(path);
  const data = await dataFileOf(model, path);
  const types = await inferTypes(model);
  const tables = embeddingTables(model.graph!, types);
  const faults = graphFaults(model, types, tables, wanted);
  if (faults.length > 0) {
    throw new ServingError(
      'ENGINE_MODEL_INVALID',
      `${path} is no model for an engine of ${wanted.pool.profile}:\n  ${faults.join('\n  ')}`,
    );
  }
  return {
    source: await fileFacts(path),
    sourceData: data === undefined ? null : await fileFacts(data),
    fingerprint: propertiesOf(model),
    inputs: inputsOf(model.graph!),
    vocabulary: tables.vocabulary,
  };
}

export async function fileFacts(path: string): Promise<FileFacts> {
  return { file: basename(path), bytes: (await stat(path)).size, sha256: await sha256OfFile(path) };
}

/** The exporter puts all weights into FILE.data, and the shell form looks nowhere else. */
async function dataFileOf(model: ModelProto, path: string): Promise<string | undefined> {
  const names = dataFilesOf(model);
  if (names.length === 0) return undefined;
  const expected = `${basename(path)}.data`;
  const other = names.find((name) => name !== expected);
  const found = await stat(join(dirname(path), expected)).catch(() => undefined);
  if (other === undefined && found !== undefined) return join(dirname(path), expected);
  throw new ServingError(
    'ENGINE_MODEL_INVALID',
    `${path} keeps weights in ${other ?? expected}${other === undefined ? ', which is missing' : `, not in ${expected}`}: put both files side by side under the names that export-onnx gave them`,
  );
}
