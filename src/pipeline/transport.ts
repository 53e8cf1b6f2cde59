/** How a batch of texts reaches the model and its vectors come back: in shared memory or inline over gRPC. */
import type { Span } from '../telemetry/tracing.ts';
import type { TransportKind } from './observer.ts';

export type EmbeddedBatch = {
  /** One row a text, in order, each bytesPerVector(contract) long. Owned by the caller. */
  readonly vectors: Uint8Array;
  readonly transport: TransportKind;
};

export interface EmbedTransport {
  /** Rejects with a ServingError, or with the signal's reason. At most contract.maxBatch texts. Calls hang under the span. */
  embed(texts: readonly string[], span: Span | undefined, signal: AbortSignal): Promise<EmbeddedBatch>;
}
