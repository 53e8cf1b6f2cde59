/**
 * One unary call over one connection: deadline, cancellation, and errors as ServingError.
 *
 * The message travels as protobuf-es bytes through grpc-js' raw interface. The deadline holds whatever the peer does:
 * grpc-js ends the call by its own timer.
 */
import { type DescMessage, type DescMethodUnary, fromBinary, type MessageShape, toBinary } from '@bufbuild/protobuf';
import type { Metadata, ServiceError } from '@grpc/grpc-js';
import { ServingError } from '../errors.ts';
import { asBuffer } from '../kserve/bytes.ts';
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
export function withTraceparent(metadata: Metadata, traceparent: string | undefined): Metadata {
  if (traceparent === undefined) return metadata;
  const own = metadata.clone();
  own.set('traceparent', traceparent);
  return own;
}

export type UnaryCall<I extends DescMessage, O extends DescMessage> = {
  readonly method: DescMethodUnary<I, O>;
  readonly kind: CallKind;
  readonly request: MessageShape<I>;
  readonly metadata: Metadata;
  readonly deadlineMs: number;
  readonly signal: AbortSignal | undefined;
};

export function callOnce<I extends DescMessage, O extends DescMessage>(
  { client, endpoint }: Connection,
  { method, kind, request, metadata, deadlineMs, signal }: UnaryCall<I, O>,
): Promise<MessageShape<O>> {
  return new Promise((resolve, reject) => {
    const call = client.makeUnaryRequest(
      `/${method.parent.typeName}/${method.name}`,
      (message: MessageShape<I>) => asBuffer(toBinary(method.input, message)),
      (bytes: Buffer) => fromBinary(method.output, bytes),
      request,
      metadata,
      { deadline: deadlineMs },
      (error: ServiceError | null, response?: MessageShape<O>) => {
        signal?.removeEventListener('abort', cancel);
        if (error === null) resolve(response!);
        else {
          const aborted = signal?.aborted === true;
          reject(fromGrpcError(error, { kind, method: method.name, endpoint: endpoint.name, aborted }));
        }
      },
    );
    const cancel = () => call.cancel();
    signal?.addEventListener('abort', cancel, { once: true });
  });
}
