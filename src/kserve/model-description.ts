/** What a model says about itself: its metadata and the parts of its config that a client needs. */
export type TensorMetadata = { readonly name: string; readonly datatype: string; readonly shape: readonly number[] };

export type ModelDescription = {
  readonly name: string;
  readonly versions: readonly string[];
  readonly platform: string;
  readonly inputs: readonly TensorMetadata[];
  readonly outputs: readonly TensorMetadata[];
  /** From the model config; 0 when the model does not batch. */
  readonly maxBatchSize: number;
  /** `parameters` of the model config. */
  readonly parameters: Readonly<Record<string, string>>;
};
