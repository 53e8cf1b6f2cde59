/**
 * Compute: the port between the engine's protocol side and what gives the numbers (the ONNX model in its thread,
 * or the synthetic one). It gets whole requests, so that a fault of one leaves the others of a batch alone.
 */
import type { WireFault } from './wire-fault.ts';

/** One list of BYTES elements for each input of the model, in the order of its inputs; all have the same length. */
export type Columns = readonly (readonly Uint8Array[])[];

/** Output rows one after the other, or why there are none. */
export type ComputeResult = Uint8Array | WireFault;

export interface Compute {
  /** One result a request, in order. Rejects only when the model itself is gone. */
  run(requests: readonly Columns[]): Promise<readonly ComputeResult[]>;
}
