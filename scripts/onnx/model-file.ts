/**
 * ONNX model files: read, composed and written. A file appears under its name only when it is whole.
 *
 * What this schema does not know is kept and written back: a model that is read and written unchanged is the same bytes.
 */
import { open, readFile, rename, rm } from 'node:fs/promises';
import { create, fromBinary, toBinary } from '@bufbuild/protobuf';
import { ServingError } from '../../src/errors.ts';
import { type GraphProto, type ModelProto, ModelProtoSchema, OperatorSetIdProtoSchema } from './gen/onnx_pb.ts';

export type ModelOptions = {
  readonly irVersion: number;
  /** Version of each operator set, by domain; '' is the standard one. */
  readonly opsets: Readonly<Record<string, number>>;
  readonly producer: string;
  readonly producerVersion: string;
};

/** Throws ENGINE_MODEL_INVALID for a file that is no ONNX model. */
export async function readModelFile(path: string): Promise<ModelProto> {
  return decodeModel(await readFile(path), path);
}

/** `name` is what a message calls the model. */
export function decodeModel(bytes: Uint8Array, name: string): ModelProto {
  let model: ModelProto;
  try {
    model = fromBinary(ModelProtoSchema, bytes);
  } catch (cause) {
    throw new ServingError('ENGINE_MODEL_INVALID', `${name} is no ONNX model: its ${bytes.length} bytes do not parse`, {
      cause,
    });
  }
  if (model.graph !== undefined && model.graph.node.length > 0) return model;
  throw new ServingError('ENGINE_MODEL_INVALID', `${name} is no ONNX model: it holds no graph`);
}

export function encodeModel(model: ModelProto): Uint8Array {
  return toBinary(ModelProtoSchema, model);
}

export function composeModel(graph: GraphProto, options: ModelOptions): ModelProto {
  return create(ModelProtoSchema, {
    irVersion: BigInt(options.irVersion),
    producerName: options.producer,
    producerVersion: options.producerVersion,
    opsetImport: Object.entries(options.opsets).map(([domain, version]) =>
      create(OperatorSetIdProtoSchema, { domain, version: BigInt(version) }),
    ),
    graph,
  });
}

export async function writeModelFile(path: string, model: ModelProto): Promise<void> {
  await writeWhole(path, encodeModel(model));
}

/** A crash or a full disk leaves what was there before, never half a file. */
export async function writeWhole(path: string, content: Uint8Array | string): Promise<void> {
  const temporary = `${path}.tmp-${process.pid}`;
  try {
    const file = await open(temporary, 'w');
    try {
      await file.writeFile(content);
      await file.sync();
    } finally {
      await file.close();
    }
    await rename(temporary, path);
  } catch (error) {
    await rm(temporary, { force: true });
    throw error;
  }
}
