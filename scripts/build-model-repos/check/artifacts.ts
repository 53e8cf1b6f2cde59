/** Whether a configuration agrees with the file that it configures: an engine by its manifest, an ONNX model by its graph. */
import { basename } from 'node:path';
import { isServingError } from '../../../src/errors.ts';
import { DataType, type ModelConfig } from '../../../src/kserve/gen/model_config_pb.ts';
import { sha256OfFile } from '../../../src/sha256-file.ts';
import { manifestPath } from '../../build-trt-engine/manifest.ts';
import { typeName } from '../../model-config/data-types.ts';
import { readModelFile } from '../../onnx/model-file.ts';
import { type EngineManifest, readEngineManifest } from '../engine-manifest.ts';
import { type GraphTensor, graphTensors } from '../graph-tensors.ts';
import type { ModelFolder } from './model-folder.ts';
import { backendOf, modelFileOf, parameterOf } from './one-model.ts';

export async function artifactProblems({ config, files = {} }: ModelFolder): Promise<string[]> {
  const file = modelFileOf(config);
  const path = file === undefined ? undefined : files[file];
  const graph = files['model.onnx'];
  try {
    if (path !== undefined && backendOf(config) === 'tensorrt') return await engineProblems(config, path);
    return graph === undefined ? [] : await graphProblems(config, graph);
  } catch (error) {
    if (isServingError(error, 'ENGINE_MODEL_INVALID')) return [error.message];
    throw error;
  }
}

async function engineProblems(config: ModelConfig, path: string): Promise<string[]> {
  const manifest = await readEngineManifest(path);
  if (manifest === undefined)
    return [`${basename(manifestPath(path))} is not beside the engine: nothing says what it is`];
  const { engine } = manifest;
  return [
    ...((await sha256OfFile(path)) === engine.sha256
      ? []
      : [`${basename(path)} is not the engine of its manifest: the SHA-256 sums differ`]),
    ...profileProblems(config, manifest),
  ];
}

/** The profile bounds every request: Triton refuses a model whose batches are beyond it, and requests that are too long. */
export function profileProblems(config: ModelConfig, { shapes: { min, max }, inputs }: EngineManifest): string[] {
  const maxTokens = Number(parameterOf(config, 'max_tokens'));
  const declared = config.input.map(({ name }) => name);
  const warm = config.modelWarmup.flatMap(({ name, inputs: shapes }) =>
    Object.values(shapes).some(({ dims }) => dims.some((size) => size > max.tokens)) ? [name] : [],
  );
  return [
    ...(config.maxBatchSize === max.batch
      ? []
      : [`max_batch_size is ${config.maxBatchSize}, and the engine's profile takes ${max.batch}`]),
    ...(maxTokens === max.tokens ? [] : [`max_tokens is ${maxTokens}, and the engine's profile takes ${max.tokens}`]),
    ...(min.batch === 1 && min.tokens === 1
      ? []
      : [`the engine's profile begins at ${min.batch} x ${min.tokens}: shorter texts would be refused`]),
    ...(declared.toSorted().join() === inputs.toSorted().join()
      ? []
      : [`inputs are ${declared.join(', ')}, and the engine's ${inputs.join(', ')}`]),
    ...warm.map((name) => `warm-up ${name} is longer than the engine's profile`),
  ];
}

async function graphProblems(config: ModelConfig, path: string): Promise<string[]> {
  const { inputs, outputs } = graphTensors(await readModelFile(path));
  const casts = backendOf(config) === 'python';
  return [
    ...sideProblems('input', config.input, inputs, { casts: false, complete: true }),
    ...sideProblems('output', config.output, outputs, { casts, complete: false }),
  ];
}

type Tensor = { readonly name: string; readonly dataType: number; readonly dims: readonly bigint[] };
type Rules = {
  /** The python backend gives a vector the type that the configuration says. */
  readonly casts: boolean;
  /** Every input of the graph must be fed; an output may be left alone. */
  readonly complete: boolean;
};

function sideProblems(
  side: string,
  declared: readonly Tensor[],
  found: readonly GraphTensor[],
  rules: Rules,
): string[] {
  const unfed = found.filter(({ name }) => !declared.some((tensor) => tensor.name === name));
  return [
    ...declared.flatMap((tensor) => tensorProblems(side, tensor, found, rules)),
    ...(rules.complete ? unfed.map(({ name }) => `${side} ${name} of model.onnx is not in the configuration`) : []),
  ];
}

function tensorProblems(
  side: string,
  { name, dataType, dims }: Tensor,
  found: readonly GraphTensor[],
  { casts }: Rules,
): string[] {
  const tensor = found.find((candidate) => candidate.name === name);
  if (tensor === undefined)
    return [`${side} ${name} is not in model.onnx, which has ${found.map((one) => one.name).join(', ')}`];
  const floats: readonly number[] = [DataType.TYPE_FP16, DataType.TYPE_FP32];
  const sameType =
    tensor.dataType === dataType || (casts && floats.includes(tensor.dataType) && floats.includes(dataType));
  const [, ...sizes] = tensor.dims;
  const fits =
    sizes.length === dims.length &&
    sizes.every((size, index) => size === -1 || dims[index] === -1n || BigInt(size) === dims[index]);
  return [
    ...(sameType ? [] : [`${side} ${name} is ${typeName(dataType)}, and ${typeName(tensor.dataType)} in model.onnx`]),
    ...(fits ? [] : [`${side} ${name} has dims [${dims.join(', ')}], and [${sizes.join(', ')}] in model.onnx`]),
  ];
}
