/** Names of the tensors between the parts of a pipeline: texts, tokens, answers. */
import { OUTPUTS as TOKENS } from '../export-tokenizer/row-nodes.ts';
import { type ModelType, INPUTS as TEXTS } from '../export-tokenizer/tokenizer-graph.ts';

export type { ModelType };
export { TEXTS, TOKENS };

/** What an encoder answers with. */
export const ANSWER = { embedding: 'EMBEDDING', reranker: 'SCORE' } as const satisfies Record<ModelType, string>;

/** Exported graphs take the names of Hugging Face: those of the tokenizer in small letters. */
export const ENCODER_INPUTS = TOKENS.map((name) => name.toLowerCase());
