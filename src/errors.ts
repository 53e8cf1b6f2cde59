/**
 * One error class and one catalogue. What a caller does about an error follows from its
 * failure class, a column of the catalogue, never from the message.
 *
 * - `backpressure`: the other side is alive and busy. Slow down, keep the chunk.
 * - `outage`: the other side is away or broken. Pause, keep every chunk, go on when it is back.
 * - `chunk`: this chunk (or row) is at fault. Isolate it; its batch-mates go on.
 * - `fatal`: no retry helps (wrong model, wrong dims, no rights). Stop with one clear error.
 * - `caller`: our own caller gave up or asked for something impossible.
 *
 * Messages and details never hold chunk text, vectors or secrets: name the field and the shape of the value.
 */
export type FailureClass = 'backpressure' | 'outage' | 'chunk' | 'fatal' | 'caller';

const CATALOGUE = {
  ARGUMENT_INVALID: 'caller',
  CONFIG_INVALID: 'fatal',

  CHUNK_INVALID: 'chunk',
  CHUNK_BLANK: 'chunk',
  CHUNK_TOO_LARGE: 'chunk',
  VALUE_UNDECODABLE: 'chunk',
  SCHEMA_UNKNOWN: 'chunk',
  SCHEMA_INVALID: 'chunk',
  SCHEMA_MISMATCH: 'fatal',
  SCHEMA_REGISTRY_UNAVAILABLE: 'outage',
  SCHEMA_REGISTRY_ACCESS_DENIED: 'fatal',

  INFERENCE_UNAVAILABLE: 'outage',
  INFERENCE_DEADLINE: 'outage',
  INFERENCE_CANCELLED: 'caller',
  INFERENCE_QUEUE_FULL: 'backpressure',
  INFERENCE_QUEUE_TIMEOUT: 'backpressure',
  INFERENCE_MESSAGE_TOO_LARGE: 'chunk',
  INFERENCE_REJECTED: 'chunk',
  INFERENCE_FAILED: 'outage',
  INFERENCE_UNSUPPORTED: 'fatal',
  INFERENCE_RESPONSE_INVALID: 'fatal',
  INFERENCE_ACCESS_DENIED: 'fatal',
  MODEL_NOT_READY: 'outage',
  MODEL_CONTRACT_MISMATCH: 'fatal',
  VECTOR_NOT_FINITE: 'chunk',
  VECTOR_ZERO: 'chunk',
  VECTOR_NOT_UNIT: 'chunk',

  SHM_NO_SPACE: 'fatal',
  SHM_INVALID: 'fatal',
  SHM_REGION_EXISTS: 'outage',
  SHM_REGION_UNKNOWN: 'outage',
  SHM_UNSUPPORTED: 'fatal',

  SINK_UNAVAILABLE: 'outage',
  SINK_FULL: 'outage',
  SINK_ROW_REFUSED: 'chunk',
  SINK_SCHEMA_MISMATCH: 'fatal',
  SINK_ACCESS_DENIED: 'fatal',

  RETRY_QUEUE_UNAVAILABLE: 'outage',
  RETRY_QUEUE_FULL: 'outage',
  RETRY_QUEUE_ACCESS_DENIED: 'fatal',

  KAFKA_UNAVAILABLE: 'outage',
  KAFKA_ACCESS_DENIED: 'fatal',
  KAFKA_CODEC_UNSUPPORTED: 'fatal',
  KAFKA_CONSUMER_DEAD: 'fatal',
  KAFKA_TOPIC_UNKNOWN: 'fatal',
  KAFKA_GROUP_MISUSED: 'fatal',
  KAFKA_OFFSETS_GONE: 'fatal',
  KAFKA_TRANSACTION_FENCED: 'fatal',

  REGISTRY_UNAVAILABLE: 'outage',
  REGISTRY_ACCESS_DENIED: 'fatal',
  REGISTRY_NOT_FOUND: 'fatal',
  REGISTRY_CONFLICT: 'fatal',
  REGISTRY_CORRUPT: 'fatal',
  MODEL_INCOMPATIBLE: 'fatal',
  DISK_FULL: 'fatal',

  BREAKER_OPEN: 'outage',
  OVERLOADED: 'backpressure',
  RETRIEVAL_DEADLINE: 'outage',
  DRAIN_TIMEOUT: 'outage',
  LEDGER_MISUSE: 'fatal',
  WORKER_STALLED: 'fatal',
  ENGINE_MODEL_INVALID: 'fatal',
  SPOT_METADATA_UNAVAILABLE: 'outage',
  OPS_UNAVAILABLE: 'outage',
  OPS_ACCESS_DENIED: 'fatal',
  DEPENDENCY_MISSING: 'fatal',
  INTERNAL: 'fatal',
} as const satisfies Record<string, FailureClass>;

export type ErrorCode = keyof typeof CATALOGUE;
export const errorCodes: readonly ErrorCode[] = Object.keys(CATALOGUE) as ErrorCode[];

export type ErrorOptions = { readonly cause?: unknown; readonly details?: Readonly<Record<string, unknown>> };

export class ServingError extends Error {
  override readonly name = 'ServingError';
  readonly code: ErrorCode;
  readonly details: Readonly<Record<string, unknown>>;

  constructor(code: ErrorCode, message: string, options: ErrorOptions = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.code = code;
    this.details = options.details ?? {};
  }

  get failureClass(): FailureClass {
    return CATALOGUE[this.code];
  }
}

export function isServingError(error: unknown, ...codes: readonly ErrorCode[]): error is ServingError {
  return error instanceof ServingError && (codes.length === 0 || codes.includes(error.code));
}

/** Anything thrown, as a ServingError; what is not one already becomes `INTERNAL` with the original as its cause. */
export function asServingError(error: unknown): ServingError {
  if (error instanceof ServingError) return error;
  const name = error instanceof Error ? error.name : typeof error;
  return new ServingError('INTERNAL', `unexpected ${name}`, { cause: error });
}
