/**
 * One long-lived ModelStreamInfer stream: requests go in, answers come back in the order of the requests, each with its id.
 *
 * Surprising: a stream has no deadline a request and a slow request holds back all behind it. So deadlines are timers of
 * our own, and a stream that owes an overdue answer takes no more requests (`retired`): what is not overdue may still be
 * answered on it, then it is cancelled, and with it whatever the server still works on for it.
 */
import { fromBinary, toBinary } from '@bufbuild/protobuf';
import { type ClientDuplexStream, type Metadata, type ServiceError, status } from '@grpc/grpc-js';
import { ServingError } from '../errors.ts';
import { asBuffer } from '../kserve/bytes.ts';
import {
  GRPCInferenceService,
  type ModelInferRequest,
  type ModelInferResponse,
  type ModelStreamInferResponse,
} from '../kserve/gen/grpc_service_pb.ts';
import type { Connection } from './endpoint-pool.ts';
import { fromGrpcError, fromStreamError } from './grpc-errors.ts';

const method = GRPCInferenceService.method.modelStreamInfer;

type Waiting = {
  readonly resolve: (response: ModelInferResponse) => void;
  readonly reject: (error: ServingError) => void;
  readonly stopTimer: () => void;
};

export type StreamRequest = {
  /** Its id is unique on this stream. */
  readonly message: ModelInferRequest;
  /** Milliseconds on the clock of `performance.now()`. */
  readonly deadlineMs: number;
  readonly signal: AbortSignal | undefined;
};

export class InferStream {
  readonly #connection: Connection;
  readonly #stream: ClientDuplexStream<ModelInferRequest, ModelStreamInferResponse>;
  readonly #onEnd: (stream: InferStream, error: ServingError | undefined) => void;
  readonly #waiting = new Map<string, Waiting>();
  #retired = false;
  #ended = false;

  /** `onEnd` is called once: with the error that ended the stream, or without one when it had done its part. */
  constructor(
    connection: Connection,
    metadata: Metadata,
    onEnd: (stream: InferStream, error: ServingError | undefined) => void,
  ) {
    this.#connection = connection;
    this.#onEnd = onEnd;
    this.#stream = connection.client.makeBidiStreamRequest(
      `/${method.parent.typeName}/${method.name}`,
      (message: ModelInferRequest) => asBuffer(toBinary(method.input, message)),
      (bytes: Buffer) => fromBinary(method.output, bytes),
      metadata,
      {},
    );
    this.#stream.on('data', (answer: ModelStreamInferResponse) => this.#onAnswer(answer));
    this.#stream.on('error', (error: ServiceError) => this.#end(error));
    this.#stream.on('end', () => this.#end(undefined));
  }

  /** Takes requests. */
  get open(): boolean {
    return !this.#retired && !this.#ended;
  }

  /** Ends by its deadline, whatever the server does. Rejects with a ServingError. */
  infer({ message, deadlineMs, signal }: StreamRequest): Promise<ModelInferResponse> {
    return new Promise((resolve, reject) => {
      const { id } = message;
      const onAbort = () => this.#giveUp(id, cancelled(signal));
      // Not at once: a process that was busy finds its timer due before it has read what has long arrived.
      const onDue = () => void setImmediate(() => this.#onOverdue(id));
      const timer = setTimeout(onDue, Math.max(0, deadlineMs - performance.now()));
      signal?.addEventListener('abort', onAbort, { once: true });
      const stopTimer = () => {
        clearTimeout(timer);
        signal?.removeEventListener('abort', onAbort);
      };
      this.#waiting.set(id, { resolve, reject, stopTimer });
      this.#stream.write(message);
    });
  }

  /** Ends now. Whoever waits is told that the client is closed. */
  close(): void {
    const error = new ServingError('INFERENCE_UNAVAILABLE', `${method.name}: the client is closed`);
    this.#finish(error, error);
    this.#stream.cancel();
  }

  #onAnswer({ errorMessage, inferResponse }: ModelStreamInferResponse): void {
    const id = inferResponse?.id ?? '';
    const waiting = this.#take(id);
    // Of a caller that gave up, or of nobody: an error without an id is not ours to place.
    if (waiting === undefined) return;
    if (errorMessage !== '') waiting.reject(fromStreamError(errorMessage, this.#connection.endpoint.name));
    else waiting.resolve(inferResponse!);
    this.#cancelIfDone();
  }

  #onOverdue(id: string): void {
    if (!this.#waiting.has(id)) return;
    this.#retired = true;
    const where = this.#connection.endpoint.name;
    this.#giveUp(id, new ServingError('INFERENCE_DEADLINE', `${method.name} at ${where}: no answer in time`));
  }

  #giveUp(id: string, error: ServingError): void {
    const waiting = this.#take(id);
    if (waiting === undefined) return;
    waiting.reject(error);
    this.#cancelIfDone();
  }

  #take(id: string): Waiting | undefined {
    const waiting = this.#waiting.get(id);
    if (waiting === undefined) return undefined;
    this.#waiting.delete(id);
    waiting.stopTimer();
    return waiting;
  }

  #cancelIfDone(): void {
    if (!this.#retired || this.#waiting.size > 0 || this.#ended) return;
    this.#finish(undefined, undefined);
    this.#stream.cancel();
  }

  #end(error: ServiceError | undefined): void {
    if (this.#ended) return;
    const cause =
      error ?? Object.assign(new Error('the server ended the stream'), { code: status.UNAVAILABLE, details: '' });
    const known = fromGrpcError(cause as ServiceError, {
      kind: 'infer',
      method: method.name,
      endpoint: this.#connection.endpoint.name,
      aborted: false,
    });
    this.#finish(known, known);
  }

  #finish(forWaiting: ServingError | undefined, forOwner: ServingError | undefined): void {
    if (this.#ended) return;
    this.#ended = true;
    for (const id of [...this.#waiting.keys()]) {
      if (forWaiting !== undefined) this.#take(id)?.reject(forWaiting);
    }
    this.#onEnd(this, forOwner);
  }
}

function cancelled(signal: AbortSignal | undefined): ServingError {
  return new ServingError('INFERENCE_CANCELLED', `${method.name} was cancelled by its caller`, {
    cause: signal?.reason,
  });
}
