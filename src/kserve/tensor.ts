/** Tensors of one KServe v2 inference call, as plain data: inline bytes, or a range of a shared-memory region. */
import type { Datatype } from './datatype.ts';

/** A byte range inside a registered region. Offsets count from the start of the region's file. */
export type RegionRange = {
  readonly region: string;
  readonly offset: number;
  readonly byteSize: number;
};

export type TensorData =
  | { readonly kind: 'inline'; readonly bytes: Uint8Array }
  | { readonly kind: 'region'; readonly range: RegionRange };

export type InputTensor = {
  readonly name: string;
  readonly datatype: Datatype;
  /** Batch size first. */
  readonly shape: readonly number[];
  readonly data: TensorData;
};

export type OutputRequest = {
  readonly name: string;
  /** Where the server writes it; without one it comes back inline. */
  readonly region?: RegionRange;
};

export type InferRequest = {
  readonly modelName: string;
  readonly modelVersion?: string;
  readonly id?: string;
  readonly inputs: readonly InputTensor[];
  readonly outputs: readonly OutputRequest[];
  /** Parameters of the request, beside those of its tensors. A server hands those that it does not know to the model. */
  readonly parameters?: Readonly<Record<string, string>>;
};

export type OutputTensor = {
  readonly name: string;
  readonly datatype: Datatype;
  readonly shape: readonly number[];
  /** `region.byteSize` is what the server really wrote, not the size of the slot. */
  readonly data: TensorData;
};

export type InferResponse = {
  readonly modelName: string;
  readonly modelVersion: string;
  readonly id: string;
  readonly outputs: readonly OutputTensor[];
};
