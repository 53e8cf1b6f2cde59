/**
 * What the files beside a model say about how it wants to be used: pooling, normalisation, length, labels, activation.
 */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import { ServingError } from '../../src/errors.ts';

export type ModelConfig = {
  readonly hiddenSize?: number | undefined;
  /** Longest input in tokens that the model has positions for. */
  readonly maxTokens: number;
  readonly padTokenId: number;
  /** Names of the labels of a classifier, in the order of its logits; empty when the config names none. */
  readonly labels: readonly string[];
  /** The activation that sentence-transformers would put on a reranker's logit, by its class name. */
  readonly activation?: string | undefined;
  /** Modes of 1_Pooling/config.json that are switched on, without their prefix: mean_tokens, cls_token, … */
  readonly poolingModes?: readonly string[] | undefined;
  /** Kinds of modules.json, in order: Transformer, Pooling, Dense, Normalize; undefined without the file. */
  readonly modules?: readonly string[] | undefined;
};

/** The window of the embedders; a longer one is possible for the model, but is not checked here. */
const LONGEST = 512;

const configFile = z.looseObject({
  hidden_size: z.number().int().positive().optional(),
  max_position_embeddings: z.number().int().positive().optional(),
  model_type: z.string().optional(),
  pad_token_id: z.number().int().nonnegative().nullish(),
  id2label: z.record(z.string(), z.string()).optional(),
  sbert_ce_default_activation_function: z.string().nullish(),
  sentence_transformers: z.looseObject({ activation_fn: z.string().nullish() }).optional(),
});
const tokenizerConfigFile = z.looseObject({ model_max_length: z.number().positive().nullish() });
const modulesFile = z.array(z.looseObject({ type: z.string() }));
const poolingFile = z.record(z.string(), z.unknown());

/** Throws ENGINE_MODEL_INVALID for a file that is not what it should be. */
export async function readModelConfig(folder: string): Promise<ModelConfig> {
  const config = (await readJson(folder, 'config.json', configFile)) ?? {};
  const tokenizer = await readJson(folder, 'tokenizer_config.json', tokenizerConfigFile);
  const modules = await readJson(folder, 'modules.json', modulesFile);
  const pooling = await readJson(folder, '1_Pooling/config.json', poolingFile);
  return {
    hiddenSize: config.hidden_size,
    maxTokens: Math.min(positionsOf(config), tokenizer?.model_max_length ?? LONGEST, LONGEST),
    padTokenId: config.pad_token_id ?? 0,
    labels: Object.entries(config.id2label ?? {})
      .sort(([a], [b]) => Number(a) - Number(b))
      .map(([, label]) => label),
    activation: config.sentence_transformers?.activation_fn ?? config.sbert_ce_default_activation_function ?? undefined,
    poolingModes: pooling && modesOf(pooling),
    modules: modules?.map(({ type }) => type.split('.').at(-1)!),
  };
}

/** RoBERTa's kind begins to count positions behind the padding id, so two of its 514 are never used. */
function positionsOf(config: z.infer<typeof configFile>): number {
  const positions = config.max_position_embeddings ?? LONGEST;
  const offset = /roberta|camembert|mpnet/.test(config.model_type ?? '') ? (config.pad_token_id ?? 1) + 1 : 0;
  return positions - offset;
}

function modesOf(pooling: Readonly<Record<string, unknown>>): string[] {
  if (typeof pooling.pooling_mode === 'string') return [pooling.pooling_mode];
  const prefix = 'pooling_mode_';
  return Object.entries(pooling)
    .filter(([key, value]) => key.startsWith(prefix) && value === true)
    .map(([key]) => key.slice(prefix.length));
}

async function readJson<T>(folder: string, file: string, schema: z.ZodType<T>): Promise<T | undefined> {
  const path = join(folder, file);
  let text: string;
  try {
    text = await readFile(path, 'utf8');
  } catch {
    return undefined;
  }
  try {
    return schema.parse(JSON.parse(text));
  } catch (cause) {
    throw new ServingError('ENGINE_MODEL_INVALID', `${path} is not the file that it should be: fix it or remove it`, {
      cause,
    });
  }
}
