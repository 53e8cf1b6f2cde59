/**
 * One unary call over one connection: deadline, cancellation, and errors as ServingError.
 *
 * Messages go through grpc-js as bytes. The deadline holds whatever the peer does:
 * grpc-js ends the call by its own timer.
 */
import { type Metadata, type ServiceError, status } from '@grpc/grpc-js';
import { ServingError } from '../errors.ts';
import { GRPCInferenceService } from '../kserve/gen/grpc_service_pb.ts';
import type { TraceContext } from '../telemetry/tracing.ts';
import type { CallOptions } from './client.ts';
import type { Connection } from './endpoint-pool.ts';
import { type CallKind, fromGrpcError } from './grpc-errors.ts';

/** Node's timers end at once beyond this, and grpc-js then waits for ever. */
const LONGEST_TIMEOUT_MS = 2 ** 31 - 1;

/** When the call must have ended, in milliseconds since the Unix epoch. Throws ARGUMENT_INVALID or INFERENCE_CANCELLED. */
export function deadlineOf({ timeoutMs, signal }: CallOptions, nowMs: number): number {
  if (!(timeoutMs > 0 && timeoutMs <= LONGEST_TIMEOUT_MS)) {
    throw new ServingError('ARGUMENT_INVALID', `timeoutMs must be > 0 and ≤ ${LONGEST_TIMEOUT_MS}, not ${timeoutMs}`, {
      details: { timeoutMs },
    });
  }
  if (signal?.aborted === true) {
    throw new ServingError('INFERENCE_CANCELLED', 'the call was cancelled before it began', { cause: signal.reason });
  }
  return nowMs + timeoutMs;
}

/** The metadata of a client, with the trace context of one call. */
export function withTraceContext(metadata: Metadata, options: CallOptions): Metadata {
  const trace = traceContextOf(options);
  if (trace === undefined) return metadata;
  const own = metadata.clone();
  for (const [name, value] of Object.entries(trace)) own.set(name, value);
  return own;
}

export function traceContextOf({ traceparent, tracestate }: CallOptions): TraceContext | undefined {
  if (traceparent === undefined) return undefined;
  return tracestate === undefined ? { traceparent } : { traceparent, tracestate };
}

export type UnaryCall<T> = {
  /** Name of the method. */
  readonly method: string;
  readonly kind: CallKind;
  /** The message. */
  readonly bytes: Buffer;
  readonly read: (answer: Buffer) => T;
  readonly metadata: Metadata;
  readonly deadlineMs: number;
  readonly signal: AbortSignal | undefined;
};

/** Messages go through grpc-js as bytes. */
export const asTheyAre = (bytes: Buffer) => bytes;

export function callOnce<T>(
  { client, endpoint, onCallEnd }: Connection,
  { method, kind, bytes, read, metadata, deadlineMs, signal }: UnaryCall<T>,
): Promise<T> {
  return new Promise((resolve, reject) => {
    const call = client.makeUnaryRequest(
      pathOf(method),
      asTheyAre,
      read,
      bytes,
      metadata,
      { deadline: deadlineMs },
      (error: ServiceError | null, answer?: T) => {
        signal?.removeEventListener('abort', cancel);
        onCallEnd(method, status[error?.code ?? status.OK] ?? 'UNKNOWN');
        if (error === null) resolve(answer!);
        else {
          const aborted = signal?.aborted === true;
          reject(fromGrpcError(error, { kind, method, endpoint: endpoint.name, aborted }));
        }
      },
    );
    const cancel = () => call.cancel();
    signal?.addEventListener('abort', cancel, { once: true });
  });
}

export function pathOf(method: string): string {
  return `/${GRPCInferenceService.typeName}/${method}`;
}
