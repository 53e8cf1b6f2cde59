/** Which output of a model holds what is served: the hidden states of an embedder, the logits of a reranker. */
import { ServingError } from '../../../src/errors.ts';
import type { GraphProto } from '../../onnx/gen/onnx_pb.ts';
import type { ValueType } from './value-types.ts';

export type ModelOutput = {
  readonly name: string;
  /** As onnxruntime calls it. */
  readonly type: string;
  /** Size of the last dimension: the width of the hidden states, the number of labels. */
  readonly width: number;
};

const HIDDEN_STATES = ['last_hidden_state', 'token_embeddings', 'hidden_states'];
const FLOATS = ['float32', 'float16'];

/** `fallbackWidth`: hidden_size of the model's config, for a graph that does not say it. Throws ENGINE_MODEL_INVALID. */
export function hiddenStates(
  graph: GraphProto,
  types: ReadonlyMap<string, ValueType>,
  fallbackWidth?: number,
): ModelOutput {
  const names = graph.output.map(({ name }) => name);
  const candidates = names.filter((name) => {
    const { type, shape } = types.get(name) ?? { type: '', shape: [] };
    return FLOATS.includes(type) && (shape.length === 3 || (shape.length === 0 && HIDDEN_STATES.includes(name)));
  });
  const name = HIDDEN_STATES.find((known) => candidates.includes(known)) ?? candidates[0];
  const width = name === undefined ? undefined : (lastSize(types.get(name)!) ?? fallbackWidth);
  if (name !== undefined && width !== undefined) return { name, type: types.get(name)!.type, width };
  throw new ServingError(
    'ENGINE_MODEL_INVALID',
    `no output of the model is [batch, sequence, dims] as float (it has ${described(names, types)}): ` +
      'export it as a feature extractor, without pooling (optimum-cli export onnx --task feature-extraction)',
  );
}

/** Throws ENGINE_MODEL_INVALID. */
export function logits(graph: GraphProto, types: ReadonlyMap<string, ValueType>): ModelOutput {
  const names = graph.output.map(({ name }) => name);
  const name = names.includes('logits') ? 'logits' : names.length === 1 ? names[0]! : undefined;
  const found = name === undefined ? undefined : types.get(name);
  const width = found === undefined ? undefined : found.shape.length === 1 ? 1 : lastSize(found);
  const ranked = found !== undefined && found.shape.length >= 1 && found.shape.length <= 2;
  if (name !== undefined && found !== undefined && ranked && width !== undefined && FLOATS.includes(found.type)) {
    return { name, type: found.type, width };
  }
  throw new ServingError(
    'ENGINE_MODEL_INVALID',
    `no output of the model is logits [batch, labels] as float (it has ${described(names, types)}): ` +
      'export it as a sequence classifier (optimum-cli export onnx --task text-classification)',
  );
}

function lastSize({ shape }: ValueType): number | undefined {
  const last = shape.at(-1);
  return typeof last === 'number' ? last : undefined;
}

function described(names: readonly string[], types: ReadonlyMap<string, ValueType>): string {
  return names
    .map((name) => `${name} ${types.get(name)?.type ?? '?'} [${types.get(name)?.shape.join(', ') ?? ''}]`)
    .join('; ');
}
