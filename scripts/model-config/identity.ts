/**
 * Which model a repository serves, and what is said of it in `parameters`.
 *
 * Clients read `fingerprint` of the ensemble and write it with every vector: whatever changes it changes the vectors. It has the
 * form that the embedded engine gives its own models, so that the same model has the same fingerprint wherever it runs.
 */

export type ModelIdentity = {
  /** Name without its owner. */
  readonly model: string;
  /** SHA-256 of the unmodified model file; undefined when no model has been named yet. */
  readonly sourceSha256?: string | undefined;
  readonly tokenizerSha256?: string | undefined;
  /** What follows the encoder in its graph: mean-l2, cls, label0-sigmoid … */
  readonly head: string;
  /** Of the answer: of a vector's numbers, or of a score. */
  readonly dtype: 'FP16' | 'FP32';
  readonly dims: number;
};

/** What an exported graph says of itself, in its metadata below `rag_serving.`. */
export type ExportProperties = Readonly<Record<string, string>>;

const UNKNOWN = 'unknown';

export function identityOf(properties: ExportProperties, answer: Pick<ModelIdentity, 'dtype' | 'dims'>): ModelIdentity {
  const { model = UNKNOWN, pooling, normalize, label, activation } = properties;
  const embeds = pooling !== undefined;
  return {
    model: model.split('/').at(-1)!,
    sourceSha256: properties.source_sha256,
    tokenizerSha256: properties.tokenizer_sha256,
    head: embeds ? `${pooling}${normalize === 'false' ? '' : '-l2'}` : `label${label ?? 0}-${activation ?? 'none'}`,
    ...answer,
  };
}

export function fingerprintOf(identity: ModelIdentity, maxTokens: number): string {
  const { model, sourceSha256, tokenizerSha256, head, dtype, dims } = identity;
  const short = (sum: string | undefined) => sum?.slice(0, 12) ?? UNKNOWN;
  return `${model}@${short(sourceSha256)}/${short(tokenizerSha256)}-${maxTokens}/${head}/${dtype}/${dims}`;
}

/** The contract of a pipeline, for whoever reads the configuration; the same on the encoder and on the ensemble. */
export function contractParameters(identity: ModelIdentity, maxTokens: number): Readonly<Record<string, string>> {
  const { model, sourceSha256, tokenizerSha256, head, dtype, dims } = identity;
  return {
    model,
    ...(sourceSha256 !== undefined && { source_sha256: sourceSha256 }),
    ...(tokenizerSha256 !== undefined && { tokenizer_sha256: tokenizerSha256 }),
    ...{ max_tokens: String(maxTokens), head, dtype, dims: String(dims) },
  };
}
