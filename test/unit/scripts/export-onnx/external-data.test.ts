/** Weights beside the model file: read from its folder only, and written when one file would be too large. */
import { mkdtemp, readdir, readFile, rm, truncate, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { create } from '@bufbuild/protobuf';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { exportModel } from '../../../../scripts/export-onnx/export-model.ts';
import { dataFilesOf, readWholeModel, writeWholeModel } from '../../../../scripts/export-onnx/external-data.ts';
import { StringStringEntryProtoSchema, TensorProto_DataLocation } from '../../../../scripts/onnx/gen/onnx_pb.ts';
import { encodeModel, readModelFile, writeModelFile } from '../../../../scripts/onnx/model-file.ts';
import { tinyEncoder, writeTinyModel } from './tiny-encoder.ts';

const SMALL_LIMIT = 2000;

let folder: string;
let path: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'rag-data-'));
  path = join(folder, 'model.onnx');
});
afterEach(() => rm(folder, { recursive: true, force: true }));

async function writeAt(location: string): Promise<void> {
  const model = tinyEncoder();
  const tensor = model.graph!.initializer[0]!;
  tensor.dataLocation = TensorProto_DataLocation.EXTERNAL;
  tensor.externalData = [create(StringStringEntryProtoSchema, { key: 'location', value: location })];
  await writeModelFile(path, model);
}

describe('external data', () => {
  it('what was moved out comes back the same', async () => {
    expect(await writeWholeModel(path, tinyEncoder(), SMALL_LIMIT)).toEqual(['model.onnx.data', 'model.onnx']);
    expect(dataFilesOf(await readModelFile(path))).toEqual(['model.onnx.data']);
    expect(Buffer.from(encodeModel(await readWholeModel(path)))).toEqual(Buffer.from(encodeModel(tinyEncoder())));
  });

  it('a model that fits stays one file', async () => {
    expect(await writeWholeModel(path, tinyEncoder(), 10 * 2 ** 20)).toEqual(['model.onnx']);
    expect(await readdir(folder)).toEqual(['model.onnx']);
  });

  it('a data file that is missing or cut is named', async () => {
    await writeWholeModel(path, tinyEncoder(), SMALL_LIMIT);
    const data = join(folder, 'model.onnx.data');
    await truncate(data, (await readFile(data)).length - 1);
    await expect(readWholeModel(path)).rejects.toThrow(/model.onnx.data.* bytes, \d+ are needed/);
    await rm(data);
    await expect(readWholeModel(path)).rejects.toThrow(/model.onnx.data.*is missing/);
  });

  for (const location of ['../secret', '/etc/passwd', 'a/../../secret', '..\\secret', 'C:\\secret', '']) {
    it(`refuses data at "${location}"`, async () => {
      await writeFile(join(folder, 'secret'), 'x'.repeat(4000));
      await writeAt(location);
      await expect(readWholeModel(path)).rejects.toThrow(/outside of the model's folder/);
    });
  }

  it('goes through an export from end to end', async () => {
    await writeTinyModel(folder, tinyEncoder(), { max_position_embeddings: 64 });
    await writeWholeModel(path, await readWholeModel(path), SMALL_LIMIT);
    const out = join(folder, 'out', 'embedder.onnx');
    const request = { type: 'embedding', model: 'tiny', folder, graph: 'model.onnx', outputPath: out } as const;
    const more = { head: { fp16: true }, threads: 1, largestFileBytes: SMALL_LIMIT };
    const report = await exportModel({ ...request, ...more }, () => {}, new AbortController().signal);
    expect(report.accepted).toBe(true);
    expect((await readdir(join(folder, 'out'))).sort()).toEqual([
      'embedder.onnx',
      'embedder.onnx.data',
      'embedder.onnx.golden.json',
    ]);
    expect(Object.keys(report.files)).toEqual(['embedder.onnx.golden.json', 'embedder.onnx.data', 'embedder.onnx']);
  });
});
