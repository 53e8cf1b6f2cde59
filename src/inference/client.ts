/**
 * InferenceClient: the port to a KServe v2 server (Triton or the embedded engine).
 *
 * Every failure is a ServingError: code and class tell what to do, `cause` keeps the transport's own error.
 * Every call ends by its deadline, also when the peer is silent.
 */
import type { ModelDescription } from '../kserve/model-description.ts';
import type { InferRequest, InferResponse } from '../kserve/tensor.ts';

export type { ModelDescription, TensorMetadata } from '../kserve/model-description.ts';

export type CallOptions = {
  /** Milliseconds from now; finite and > 0. */
  readonly timeoutMs: number;
  readonly signal?: AbortSignal;
  /** W3C trace context. Unary calls carry it as metadata; on a stream it is the request parameter `traceparent`. */
  readonly traceparent?: string;
  /** Goes with it, the same way. */
  readonly tracestate?: string;
};

export type SharedMemoryRegion = {
  readonly name: string;
  /** POSIX shared-memory key: "/" and the file name. */
  readonly key: string;
  readonly offset: number;
  readonly byteSize: number;
};

export interface InferenceClient {
  /** host:port list as configured, for messages. */
  readonly target: string;
  serverLive(options: CallOptions): Promise<boolean>;
  serverReady(options: CallOptions): Promise<boolean>;
  modelReady(modelName: string, options: CallOptions): Promise<boolean>;
  describeModel(modelName: string, options: CallOptions): Promise<ModelDescription>;
  infer(request: InferRequest, options: CallOptions): Promise<InferResponse>;
  /** Throws SHM_UNSUPPORTED when the server refuses client shared memory or cannot open the file, SHM_REGION_EXISTS for a taken name. */
  registerSharedMemory(region: SharedMemoryRegion, options: CallOptions): Promise<void>;
  /** Unknown names are fine. The empty name, which means everybody's regions, is refused. */
  unregisterSharedMemory(name: string, options: CallOptions): Promise<void>;
  listSharedMemory(options: CallOptions): Promise<readonly SharedMemoryRegion[]>;
  close(): void;
}
