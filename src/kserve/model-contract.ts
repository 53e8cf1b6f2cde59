/**
 * Compares what a model says about itself with what we need of it, before any text is sent.
 *
 * Every mismatch is named, with what was expected and what was found, in one error: whoever deployed the wrong model
 * reads it once. Max batch 1 means one row a call. Max batch 0 means that the model has no batch dimension of its own
 * in Triton's sense, so nothing promises that it takes several rows: it too gets one row a call, shape [1,1].
 */
import { ServingError } from '../errors.ts';
import type { VectorContract, VectorDtype } from './contract.ts';
import type { ModelDescription, TensorMetadata } from './model-description.ts';

export const EMBEDDER_INPUT = 'TEXT';
export const EMBEDDER_OUTPUT = 'EMBEDDING';
export const RERANKER_QUERY = 'QUERY';
export const RERANKER_PASSAGE = 'PASSAGE';
export const RERANKER_OUTPUT = 'SCORE';

export type RerankerContract = {
  readonly modelName: string;
  /** Largest number of query-passage pairs of one call. */
  readonly maxBatch: number;
};

type Expected = { readonly datatypes: readonly string[]; readonly lastDimension: number | 'fixed' };

const TEXTS: Expected = { datatypes: ['BYTES'], lastDimension: 1 };
const VECTORS: Expected = { datatypes: ['FP16', 'FP32'], lastDimension: 'fixed' };
const SCORES: Expected = { datatypes: ['FP32'], lastDimension: 1 };

/** TEXT BYTES [-1,1] → EMBEDDING FP16 or FP32 [-1,D]. Throws MODEL_CONTRACT_MISMATCH. */
export function embedderContract(model: ModelDescription): VectorContract {
  check(model, { [EMBEDDER_INPUT]: TEXTS }, { [EMBEDDER_OUTPUT]: VECTORS });
  const output = model.outputs.find(({ name }) => name === EMBEDDER_OUTPUT)!;
  const dims = output.shape[1]!;
  const dtype = output.datatype as VectorDtype;
  return {
    modelName: model.name,
    fingerprint: fingerprint(model, dims, dtype),
    dims,
    dtype,
    maxBatch: Math.max(1, model.maxBatchSize),
  };
}

/** QUERY BYTES [-1,1], PASSAGE BYTES [-1,1] → SCORE FP32 [-1,1]. Throws MODEL_CONTRACT_MISMATCH. */
export function rerankerContract(model: ModelDescription): RerankerContract {
  check(model, { [RERANKER_QUERY]: TEXTS, [RERANKER_PASSAGE]: TEXTS }, { [RERANKER_OUTPUT]: SCORES });
  return { modelName: model.name, maxBatch: Math.max(1, model.maxBatchSize) };
}

/**
 * `parameters.fingerprint` of the model config, which the export writes. A model without one is told apart by what is
 * known of it, `name@version/dims/dtype`: another tokenizer under the same version goes unnoticed then.
 */
function fingerprint(model: ModelDescription, dims: number, dtype: VectorDtype): string {
  const given = model.parameters.fingerprint?.trim() ?? '';
  return given !== '' ? given : `${model.name}@${latestVersion(model.versions)}/${dims}/${dtype}`;
}

/** Triton serves the largest version number when none is asked for. */
function latestVersion(versions: readonly string[]): string {
  return versions.reduce(
    (latest, version) => (Number(version) > Number(latest) ? version : latest),
    versions[0] ?? '0',
  );
}

function check(
  model: ModelDescription,
  inputs: Readonly<Record<string, Expected>>,
  outputs: Readonly<Record<string, Expected>>,
): void {
  const mismatches = [
    ...missing('input', model.inputs, inputs),
    ...model.inputs
      .filter(({ name }) => !Object.hasOwn(inputs, name))
      .map(({ name }) => `input ${name}: nothing to feed it with, expected only ${Object.keys(inputs).join(', ')}`),
    ...missing('output', model.outputs, outputs),
    ...model.inputs.flatMap((tensor) => tensorMismatches('input', tensor, inputs[tensor.name], model.maxBatchSize)),
    ...model.outputs.flatMap((tensor) => tensorMismatches('output', tensor, outputs[tensor.name], model.maxBatchSize)),
  ];
  if (!Number.isSafeInteger(model.maxBatchSize) || model.maxBatchSize < 0) {
    mismatches.push(`max_batch_size: expected a whole number ≥ 0, found ${model.maxBatchSize}`);
  }
  if (mismatches.length === 0) return;
  throw new ServingError(
    'MODEL_CONTRACT_MISMATCH',
    `model ${model.name} is not the model expected here: ${mismatches.join('; ')}`,
    { details: { model: model.name, mismatches } },
  );
}

function missing(
  kind: string,
  found: readonly TensorMetadata[],
  expected: Readonly<Record<string, Expected>>,
): string[] {
  const names = found.map(({ name }) => name);
  return Object.keys(expected)
    .filter((name) => !names.includes(name))
    .map((name) => `${kind} ${name}: expected, found ${names.join(', ') || 'none'}`);
}

function tensorMismatches(
  kind: string,
  { name, datatype, shape }: TensorMetadata,
  expected: Expected | undefined,
  maxBatchSize: number,
): string[] {
  if (expected === undefined) return [];
  const mismatches: string[] = [];
  if (!expected.datatypes.includes(datatype)) {
    mismatches.push(`${kind} ${name} datatype: expected ${expected.datatypes.join(' or ')}, found ${datatype}`);
  }
  if (!shapeFits(shape, expected.lastDimension, maxBatchSize)) {
    const last = expected.lastDimension === 'fixed' ? 'D with D ≥ 1' : expected.lastDimension;
    mismatches.push(`${kind} ${name} shape: expected [-1,${last}], found [${shape}]`);
  }
  return mismatches;
}

function shapeFits(shape: readonly number[], lastDimension: number | 'fixed', maxBatchSize: number): boolean {
  const [rows, last] = shape;
  if (shape.length !== 2 || rows === undefined || last === undefined) return false;
  // Without batching the first dimension is an ordinary one, and a model for a single row says 1.
  const rowsFit = rows === -1 || (maxBatchSize === 0 && rows === 1);
  return rowsFit && (lastDimension === 'fixed' ? last >= 1 : last === lastDimension);
}
