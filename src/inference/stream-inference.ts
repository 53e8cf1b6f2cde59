/**
 * Inference over the streams of a pool: one stream a connection, and a unary call where the other side takes no streams.
 *
 * Each request gets an id of ours, unique in the pool, because an answer is known by its id alone.
 */
import type { Metadata } from '@grpc/grpc-js';
import { asServingError, type ErrorCode, isServingError } from '../errors.ts';
import { GRPCInferenceService } from '../kserve/gen/grpc_service_pb.ts';
import { type InferAnswer, readInferAnswer } from '../kserve/infer-answer.ts';
import { encodeInferRequest } from '../kserve/infer-request.ts';
import { decodeInferResponse } from '../kserve/infer-response.ts';
import type { InferRequest, InferResponse } from '../kserve/tensor.ts';
import type { CallOptions } from './client.ts';
import type { Connection, EndpointPool } from './endpoint-pool.ts';
import { acrossConnections } from './failover.ts';
import type { StreamRequest } from './infer-stream.ts';
import { StreamLane } from './stream-lane.ts';
import { callOnce, deadlineOf, traceContextOf, withTraceContext } from './unary-call.ts';

const { modelInfer, modelStreamInfer } = GRPCInferenceService.method;

const STATUS_OF: Readonly<Partial<Record<ErrorCode, string>>> = {
  INFERENCE_CANCELLED: 'CANCELLED',
  INFERENCE_DEADLINE: 'DEADLINE_EXCEEDED',
  INFERENCE_UNAVAILABLE: 'UNAVAILABLE',
  INFERENCE_QUEUE_FULL: 'UNAVAILABLE',
  INFERENCE_QUEUE_TIMEOUT: 'UNAVAILABLE',
  INFERENCE_REJECTED: 'INVALID_ARGUMENT',
  INFERENCE_UNSUPPORTED: 'UNIMPLEMENTED',
  INFERENCE_ACCESS_DENIED: 'PERMISSION_DENIED',
  MODEL_NOT_READY: 'NOT_FOUND',
};

export class StreamInference {
  readonly #pool: EndpointPool;
  readonly #metadata: Metadata;
  readonly #lanes = new Map<Connection, StreamLane>();
  #lastId = 0;

  constructor(pool: EndpointPool, metadata: Metadata) {
    this.#pool = pool;
    this.#metadata = metadata;
  }

  async infer(request: InferRequest, options: CallOptions): Promise<InferResponse> {
    const deadlineMs = deadlineOf(options, performance.now());
    const { signal } = options;
    const id = String(++this.#lastId);
    // A stream has one set of metadata for all its requests.
    const trace = traceContextOf(options);
    const traced = trace === undefined ? request : { ...request, parameters: { ...request.parameters, ...trace } };
    const stream: StreamRequest = { id, bytes: encodeInferRequest(traced, id), deadlineMs, signal };
    const answer = await acrossConnections(
      this.#pool,
      { method: modelStreamInfer.name, breaker: 'guards', deadlineMs, signal },
      (connection) => this.#ask(connection, stream, options),
    );
    return decodeInferResponse(answer, request, id);
  }

  close(): void {
    for (const lane of this.#lanes.values()) lane.close();
  }

  #laneOf(connection: Connection): StreamLane {
    const known = this.#lanes.get(connection);
    if (known !== undefined) return known;
    const lane = new StreamLane(connection, this.#metadata);
    this.#lanes.set(connection, lane);
    connection.onClose(() => {
      this.#lanes.delete(connection);
      lane.close();
    });
    return lane;
  }

  async #ask(connection: Connection, request: StreamRequest, options: CallOptions): Promise<InferAnswer> {
    const lane = this.#laneOf(connection);
    if (lane.isOffered(performance.now())) {
      try {
        const answer = await lane.infer(request);
        connection.onCallEnd(modelStreamInfer.name, 'OK');
        return answer;
      } catch (error) {
        connection.onCallEnd(modelStreamInfer.name, statusLike(error));
        if (!isServingError(error, 'INFERENCE_UNSUPPORTED')) throw error;
      }
    }
    return callOnce(connection, {
      method: modelInfer.name,
      kind: 'infer',
      bytes: request.bytes,
      read: readInferAnswer,
      metadata: withTraceContext(this.#metadata, options),
      deadlineMs: Date.now() + request.deadlineMs - performance.now(),
      signal: request.signal,
    });
  }
}

/** One request of a stream has no status of its own: the one that a call would have ended with. */
function statusLike(error: unknown): string {
  const { code } = asServingError(error);
  return STATUS_OF[code] ?? 'UNKNOWN';
}
