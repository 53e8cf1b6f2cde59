/**
 * What goes on top of the model: the options where they say it, else the model's own files, else the usual. Pure.
 *
 * An option that contradicts the model is obeyed with a warning. What the graph cannot do is refused by name: a vector
 * that is merely plausible would be found out by search quality, months later.
 */
import { ServingError } from '../../src/errors.ts';
import type { EmbeddingHead, Pooling, ScoreHead } from './graph/pooling.ts';
import type { ModelConfig } from './model-config.ts';

export type EmbeddingOptions = {
  readonly pooling?: Pooling | undefined;
  readonly normalize?: boolean | undefined;
  readonly matryoshka?: number | undefined;
  readonly fp16: boolean;
};

export type ScoreOptions = {
  /** Index of the label that means relevance. */
  readonly label?: number | undefined;
  readonly activation?: 'sigmoid' | 'none' | undefined;
};

export type Choice<Head> = { readonly head: Head; readonly warnings: readonly string[] };

const POOLING_OF: Readonly<Record<string, Pooling>> = {
  mean_tokens: 'mean',
  cls_token: 'cls',
  mean: 'mean',
  cls: 'cls',
};
const KNOWN_MODULES = ['Transformer', 'Pooling', 'Normalize'];

/** `width`: dimensions of the hidden states. Throws ENGINE_MODEL_INVALID or ARGUMENT_INVALID. */
export function chooseEmbedding(options: EmbeddingOptions, config: ModelConfig, width: number): Choice<EmbeddingHead> {
  const further = config.modules?.find((module) => !KNOWN_MODULES.includes(module));
  if (further !== undefined) {
    throw new ServingError(
      'ENGINE_MODEL_INVALID',
      `modules.json puts a ${further} layer behind the encoder, which its ONNX file does not hold: choose a model without it`,
    );
  }
  const { matryoshka } = options;
  if (matryoshka !== undefined && matryoshka > width) {
    throw new ServingError(
      'ARGUMENT_INVALID',
      `--matryoshka ${matryoshka} is more than the model's ${width} dimensions`,
    );
  }
  const [mode, ...rest] = config.poolingModes ?? [];
  const own = rest.length === 0 && mode !== undefined ? POOLING_OF[mode] : undefined;
  if (options.pooling === undefined && mode !== undefined && own === undefined) {
    throw new ServingError(
      'ENGINE_MODEL_INVALID',
      `the model is pooled by ${config.poolingModes!.join(' and ')}, which is not built here (mean and cls are): choose another model, or --pooling to override it`,
    );
  }
  const pooling = options.pooling ?? own ?? 'mean';
  const ownNormalize = config.modules?.includes('Normalize');
  const normalize = options.normalize ?? true;
  const warnings: string[] = [];
  if (mode !== undefined && pooling !== own) {
    warnings.push(`--pooling ${pooling}, although the model was trained with ${config.poolingModes!.join(' and ')}`);
  }
  if (!normalize) warnings.push('vectors are not of length 1: set RAG_SERVING_VECTOR_NORM=any where they are used');
  if (options.normalize === undefined && ownNormalize === false) {
    warnings.push('normalised, although modules.json has no Normalize (--no-normalize leaves it out)');
  }
  return {
    head: { pooling, normalize, half: options.fp16, ...(matryoshka !== undefined && { matryoshka }) },
    warnings,
  };
}

/** `labels`: how many logits there are. Throws ENGINE_MODEL_INVALID or ARGUMENT_INVALID. */
export function chooseScore(options: ScoreOptions, config: ModelConfig, labels: number): Choice<ScoreHead> {
  const { label = 0 } = options;
  if (label >= labels) {
    throw new ServingError('ARGUMENT_INVALID', `--label ${label} is none of the model's ${labels} (they count from 0)`);
  }
  if (labels > 1 && options.label === undefined) {
    const named = config.labels.length === labels ? ` (${config.labels.join(', ')})` : '';
    throw new ServingError(
      'ENGINE_MODEL_INVALID',
      `the model has ${labels} labels${named}, a reranker has one: say which is the relevance with --label INDEX`,
    );
  }
  const activation = options.activation ?? activationOf(config.activation, labels);
  if (activation !== undefined) return { head: { label, sigmoid: activation === 'sigmoid' }, warnings: [] };
  throw new ServingError(
    'ENGINE_MODEL_INVALID',
    `the model wants ${config.activation} on its logits, which is not built here: say --activation sigmoid or none`,
  );
}

/** A reranker that says nothing gets the default of sentence-transformers: sigmoid for one label, nothing for several. */
function activationOf(name: string | undefined, labels: number): 'sigmoid' | 'none' | undefined {
  const kind = name?.split('.').at(-1);
  if (kind === undefined) return labels === 1 ? 'sigmoid' : 'none';
  return kind === 'Sigmoid' ? 'sigmoid' : kind === 'Identity' ? 'none' : undefined;
}
