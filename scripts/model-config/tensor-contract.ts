/** Names of the tensors between the parts of a pipeline: texts, tokens, answers. Graphs and configurations have them from here. */
export const modelTypes = ['embedding', 'reranker'] as const;
export type ModelType = (typeof modelTypes)[number];

/** What a tokenizer takes: each BYTES [batch, 1]. */
export const TEXTS: Readonly<Record<ModelType, readonly string[]>> = {
  embedding: ['TEXT'],
  reranker: ['QUERY', 'PASSAGE'],
};

/** What it gives, and an encoder takes: each INT64 [batch, tokens]. */
export const TOKENS = ['INPUT_IDS', 'ATTENTION_MASK', 'TOKEN_TYPE_IDS'] as const;

/** What an encoder answers with. */
export const ANSWER = { embedding: 'EMBEDDING', reranker: 'SCORE' } as const satisfies Record<ModelType, string>;

/** Exported graphs take the names of Hugging Face: those of the tokenizer in small letters, and in its order. */
export type EncoderInput = Lowercase<(typeof TOKENS)[number]>;
export const ENCODER_INPUTS = TOKENS.map((name) => name.toLowerCase() as EncoderInput);
