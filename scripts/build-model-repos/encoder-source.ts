/** What is known of an encoder: from the graph that export-onnx wrote, or from the manifest beside an engine. */
import { access } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { ServingError } from '../../src/errors.ts';
import { DataType } from '../../src/kserve/gen/model_config_pb.ts';
import { manifestPath } from '../build-trt-engine/manifest.ts';
import type { Runtime } from '../model-config/encoder-config.ts';
import { type ExportProperties, identityOf, type ModelIdentity } from '../model-config/identity.ts';
import { ANSWER, ENCODER_INPUTS } from '../model-config/tensor-contract.ts';
import { readModelFile } from '../onnx/model-file.ts';
import type { Pool } from '../pools.ts';
import { readEngineManifest } from './engine-manifest.ts';
import { graphTensors } from './graph-tensors.ts';

export type EncoderSource = {
  readonly identity: ModelIdentity;
  readonly inputs: readonly string[];
  /** Files of its version's folder, by the name they have there. */
  readonly files: Readonly<Record<string, string>>;
  /** Longest row that the engine was built for, or the graph has positions for; undefined when it does not say. */
  readonly maxTokens?: number;
};

const PROPERTY = 'rag_serving.';

/** Throws ARGUMENT_INVALID for a file of another runtime, ENGINE_MODEL_INVALID for one that does not fit the pool. */
export async function readEncoder(path: string, pool: Pool, runtime: Runtime): Promise<EncoderSource> {
  const isPlan = path.endsWith('.plan');
  if (isPlan !== (runtime === 'trt')) {
    const wanted = runtime === 'trt' ? 'a .plan of build-trt-engine' : 'an .onnx file of export-onnx';
    throw new ServingError('ARGUMENT_INVALID', `--encoder ${path}: --runtime ${runtime} serves ${wanted}`);
  }
  await access(path).catch(() => {
    throw new ServingError('ARGUMENT_INVALID', `--encoder ${path} is not there`);
  });
  return isPlan ? await readPlan(path, pool) : await readGraph(path, pool, runtime);
}

async function readPlan(path: string, pool: Pool): Promise<EncoderSource> {
  const manifest = await readEngineManifest(path);
  if (manifest === undefined) {
    const message = `${manifestPath(path)} is not there: an engine without it may be any model, so it is not served`;
    throw new ServingError('ENGINE_MODEL_INVALID', message);
  }
  const properties = manifest.fingerprint;
  const dims = pool.modelType === 'embedding' ? Number(properties.dims) : 1;
  if (!Number.isInteger(dims)) throw notExported(path, 'its manifest names no dims');
  const dtype = pool.modelType === 'embedding' && properties.dtype === 'FP16' ? 'FP16' : 'FP32';
  return {
    identity: identityOf(properties, { dtype, dims }),
    inputs: ENCODER_INPUTS.filter((name) => manifest.inputs.includes(name)),
    files: { 'model.plan': path, 'model.plan.manifest.json': manifestPath(path) },
    maxTokens: manifest.shapes.max.tokens,
  };
}

async function readGraph(path: string, pool: Pool, runtime: Runtime): Promise<EncoderSource> {
  const model = await readModelFile(path);
  const { inputs, outputs } = graphTensors(model);
  const answer = outputs.find(({ name }) => name === ANSWER[pool.modelType]);
  const strange = inputs.find(({ name }) => !(ENCODER_INPUTS as readonly string[]).includes(name));
  if (answer === undefined) throw notExported(path, `it has no output ${ANSWER[pool.modelType]}`);
  if (strange !== undefined) throw notExported(path, `${strange.name} is no input that a tokenizer feeds`);
  const entries = model.metadataProps.filter(({ key }) => key.startsWith(PROPERTY));
  const properties: ExportProperties = Object.fromEntries(
    entries.map(({ key, value }) => [key.slice(PROPERTY.length), value]),
  );
  const half = answer.dataType === DataType.TYPE_FP16;
  // The CPU form computes in whatever the graph does and answers as the GPU form: clients see one contract.
  const dtype = pool.modelType === 'embedding' && (half || runtime === 'python') ? 'FP16' : 'FP32';
  const weights = model.graph!.initializer.flatMap(({ externalData }) =>
    externalData.filter(({ key }) => key === 'location').map(({ value }) => value),
  );
  const positions = Number(properties.positions);
  return {
    ...(positions > 0 && { maxTokens: Math.min(positions, pool.maxTokens) }),
    identity: identityOf(properties, { dtype, dims: answer.dims.at(-1)! }),
    inputs: ENCODER_INPUTS.filter((name) => inputs.some((input) => input.name === name)),
    files: {
      'model.onnx': path,
      ...Object.fromEntries([...new Set(weights)].map((name) => [basename(name), join(dirname(path), name)])),
    },
  };
}

function notExported(path: string, why: string): ServingError {
  return new ServingError('ENGINE_MODEL_INVALID', `${path} is not what export-onnx writes for this pool: ${why}`);
}
