/**
 * The golden file of a repository: what export-onnx wrote beside the encoder, told which pipeline answers it now. It lies at the
 * repository's top, where Triton looks at folders only, and where `models push` and `models check` look for it.
 *
 * The export names no fingerprint, since it knows neither the tokenizer nor the length that its model will be served with.
 */
import { access, readFile } from 'node:fs/promises';
import { ServingError } from '../../src/errors.ts';
import { type Golden, parseGolden } from '../../src/golden/golden-file.ts';
import { fingerprintOf, identityOf, type ModelIdentity } from '../model-config/identity.ts';

export const GOLDEN_FILE = 'golden.json';

export type Pipeline = {
  readonly identity: ModelIdentity;
  readonly maxTokens: number;
  /** As the ensemble says it: the one that follows from the model, or another. */
  readonly fingerprint: string;
};

/** The file that was named, else the one beside the encoder; undefined when there is none there. Throws ARGUMENT_INVALID. */
export async function findGolden(named: string | undefined, encoder: string): Promise<string | undefined> {
  const path = named ?? `${encoder}.${GOLDEN_FILE}`;
  try {
    await access(path);
    return path;
  } catch {
    if (named === undefined) return undefined;
    throw new ServingError('ARGUMENT_INVALID', `--golden ${named} is not there`);
  }
}

export async function readGolden(path: string): Promise<Golden> {
  return parseGolden(await readFile(path, 'utf8'), path);
}

/** Throws ARGUMENT_INVALID for the golden file of another model. `path` is for messages. */
export function goldenOfPipeline(golden: Golden, pipeline: Pipeline, path: string): Golden {
  const { identity, maxTokens, fingerprint } = pipeline;
  const derived = fingerprintOf(identity, maxTokens);
  const own = ownFingerprint(golden, pipeline);
  if (own !== undefined && own !== derived && own !== fingerprint) {
    const message = `${path} is of another model, ${own}, and the repository serves ${derived}`;
    throw new ServingError('ARGUMENT_INVALID', `${message}: take the golden file of the same export`);
  }
  const known = { fingerprint, maxTokens };
  if (golden.kind === 'reranker') {
    return { ...golden, ...known, rows: cutAlike(golden.rows, golden.maxTokens, maxTokens) };
  }
  // The CPU form answers in FP16 what a graph in FP32 computed.
  return { ...golden, ...known, dtype: identity.dtype, rows: cutAlike(golden.rows, golden.maxTokens, maxTokens) };
}

/** What the file was made from, as if it were served so; undefined where it does not say. */
function ownFingerprint(golden: Golden, { identity, maxTokens }: Pipeline): string | undefined {
  if (golden.producer.kind === 'endpoint') return golden.fingerprint ?? undefined;
  const dims = golden.kind === 'embedder' ? golden.dims : 1;
  return fingerprintOf(identityOf(golden.producer.properties, { dtype: identity.dtype, dims }), maxTokens);
}

/** A text that one of the two windows cuts and the other does not has another vector, and nothing is wrong with it. */
function cutAlike<R extends { readonly tokens?: number | undefined }>(
  rows: readonly R[],
  reference: number | null,
  served: number,
): readonly R[] {
  if (reference === null || reference === served) return rows;
  const shorter = Math.min(reference, served);
  return rows.filter(({ tokens = 0 }) => tokens <= shorter);
}
