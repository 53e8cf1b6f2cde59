/** TextModel: a sentence encoder as the engine sees it, in its own thread or in this one. */
export interface TextModel {
  readonly dims: number;
  /** [texts, dims], each row L2-normalised. */
  embed(texts: readonly string[]): Promise<Float32Array>;
  /** One score a pair; both lists have the same length. */
  scorePairs(queries: readonly string[], passages: readonly string[]): Promise<Float32Array>;
  close(): Promise<void>;
}
