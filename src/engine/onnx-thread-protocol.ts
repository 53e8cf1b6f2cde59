/** What the engine and its model thread say to each other. */
export type ThreadData = {
  readonly modelPath: string;
  readonly tokenizerPath: string;
  readonly maxTokens: number;
  readonly threads: number;
};

export type ThreadRequest = { readonly id: number } & (
  | { readonly kind: 'embed'; readonly texts: readonly string[] }
  | { readonly kind: 'score'; readonly queries: readonly string[]; readonly passages: readonly string[] }
);

export type ThreadReply =
  | { readonly kind: 'ready'; readonly dims: number }
  /** The model could not be opened; the thread ends. */
  | { readonly kind: 'refused'; readonly code: string; readonly message: string }
  | { readonly kind: 'values'; readonly id: number; readonly values: Float32Array }
  | { readonly kind: 'failed'; readonly id: number; readonly message: string };
