/**
 * Weights beside the model file. A protobuf message ends at 2 GiB, so larger models keep their tensors in a second file.
 *
 * Read: into memory, from the model's own folder only. Written: when the model would be too large for one file.
 */
import { open, stat } from 'node:fs/promises';
import { basename, dirname, join, normalize } from 'node:path';
import { clearField, create } from '@bufbuild/protobuf';
import { ServingError } from '../../src/errors.ts';
import {
  TensorProto_DataLocation as Location,
  type ModelProto,
  StringStringEntryProtoSchema,
  type TensorProto,
  TensorProtoSchema,
} from '../onnx/gen/onnx_pb.ts';
import { readModelFile, writeModelFile } from '../onnx/model-file.ts';
import { tensorsOf } from './graph/tensor-walk.ts';

/** A little below 2 GiB: the graph itself takes room too. */
export const LARGEST_FILE_BYTES = 2 ** 31 - 2 ** 26;
/** Smaller tensors stay in the model: shapes and axes are read when the graph is loaded. */
const SMALLEST_MOVED_BYTES = 1024;
/** Pages can be mapped then. */
const ALIGNMENT = 4096;

/** The model with all its weights. Throws ENGINE_MODEL_INVALID for a data file that is missing, too short or elsewhere. */
export async function readWholeModel(path: string): Promise<ModelProto> {
  const model = await readModelFile(path);
  for (const tensor of tensorsOf(model.graph!)) {
    if (tensor.dataLocation === Location.EXTERNAL) await bringIn(tensor, path);
  }
  return model;
}

/** Names of the files that hold the weights of a model, relative to it. */
export function dataFilesOf(model: ModelProto): string[] {
  const external = [...tensorsOf(model.graph!)].filter((tensor) => tensor.dataLocation === Location.EXTERNAL);
  return [...new Set(external.map((tensor) => locationOf(tensor)))];
}

/** Writes the model and, if it must be, `<name>.data` beside it, where the weights then are; gives the names written, the model last. */
export async function writeWholeModel(path: string, model: ModelProto, largestFileBytes: number): Promise<string[]> {
  const { initializer } = model.graph!;
  const total = initializer.reduce((bytes, { rawData, floatData }) => bytes + rawData.length + 4 * floatData.length, 0);
  if (total <= largestFileBytes) {
    await writeModelFile(path, model);
    return [basename(path)];
  }
  const location = `${basename(path)}.data`;
  const file = await open(join(dirname(path), location), 'w');
  try {
    let at = 0;
    for (const tensor of initializer) {
      if (tensor.rawData.length < SMALLEST_MOVED_BYTES) continue;
      at = Math.ceil(at / ALIGNMENT) * ALIGNMENT;
      at += await moveOut(tensor, { location, offset: at }, (bytes, offset) => writeAll(file, bytes, offset));
    }
    await file.sync();
  } finally {
    await file.close();
  }
  await writeModelFile(path, model);
  return [location, basename(path)];
}

type Place = { readonly location: string; readonly offset: number };

async function moveOut(
  tensor: TensorProto,
  { location, offset }: Place,
  write: (bytes: Uint8Array, offset: number) => Promise<void>,
): Promise<number> {
  const bytes = tensor.rawData;
  await write(bytes, offset);
  const entries = { location, offset: String(offset), length: String(bytes.length) };
  tensor.externalData = Object.entries(entries).map(([key, value]) =>
    create(StringStringEntryProtoSchema, { key, value }),
  );
  tensor.dataLocation = Location.EXTERNAL;
  clearField(tensor, TensorProtoSchema.field.rawData);
  return bytes.length;
}

async function writeAll(file: Awaited<ReturnType<typeof open>>, bytes: Uint8Array, offset: number): Promise<void> {
  for (let done = 0; done < bytes.length; ) {
    const { bytesWritten } = await file.write(bytes, done, bytes.length - done, offset + done);
    done += bytesWritten;
  }
}

async function bringIn(tensor: TensorProto, modelPath: string): Promise<void> {
  const location = locationOf(tensor);
  const path = join(dirname(modelPath), location);
  const offset = Number(entry(tensor, 'offset') ?? 0);
  const size = (await stat(path).catch(() => undefined))?.size;
  const length = Number(entry(tensor, 'length') ?? (size ?? 0) - offset);
  if (size === undefined || offset + length > size) {
    const what = size === undefined ? 'is missing' : `has ${size} bytes, ${offset + length} are needed`;
    throw new ServingError(
      'ENGINE_MODEL_INVALID',
      `${location}, the weights of ${modelPath}, ${what}: put the whole file beside the model`,
    );
  }
  const file = await open(path);
  try {
    const bytes = new Uint8Array(length);
    for (let done = 0; done < length; ) {
      const { bytesRead } = await file.read(bytes, done, length - done, offset + done);
      if (bytesRead === 0)
        throw new ServingError('ENGINE_MODEL_INVALID', `${location} became shorter while it was read`);
      done += bytesRead;
    }
    tensor.rawData = bytes;
  } finally {
    await file.close();
  }
  tensor.externalData = [];
  clearField(tensor, TensorProtoSchema.field.dataLocation);
}

/** A model that was downloaded says which file to open: nothing outside of its own folder. */
function locationOf(tensor: TensorProto): string {
  const location = normalize(entry(tensor, 'location') ?? '');
  if (location !== '.' && !location.startsWith('..') && !location.startsWith('/') && !/^[a-z]:|\\/i.test(location)) {
    return location;
  }
  throw new ServingError(
    'ENGINE_MODEL_INVALID',
    `tensor ${tensor.name} keeps its data at a place outside of the model's folder: this model is not to be trusted`,
  );
}

function entry({ externalData }: TensorProto, key: string): string | undefined {
  return externalData.find((pair) => pair.key === key)?.value;
}
