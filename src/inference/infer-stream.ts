/**
 * One long-lived ModelStreamInfer stream: requests go in, answers come back in the order of the requests, each with its id.
 *
 * Surprising: a stream has no deadline a request and a slow request holds back all behind it. So deadlines are timers of
 * our own, and a stream that owes an overdue answer takes no more requests (`retired`): what is not overdue may still be
 * answered on it, then it is cancelled, and with it whatever the server still works on for it.
 */
import { type ClientDuplexStream, type Metadata, type ServiceError, status } from '@grpc/grpc-js';
import { ServingError } from '../errors.ts';
import { GRPCInferenceService } from '../kserve/gen/grpc_service_pb.ts';
import { type InferAnswer, readStreamAnswer, type StreamAnswer } from '../kserve/infer-answer.ts';
import { onAbort } from '../on-abort.ts';
import type { Connection } from './endpoint-pool.ts';
import { fromGrpcError, fromStreamError } from './grpc-errors.ts';
import { asTheyAre, pathOf } from './unary-call.ts';

const { name: METHOD } = GRPCInferenceService.method.modelStreamInfer;

type Waiting = {
  readonly resolve: (answer: InferAnswer) => void;
  readonly reject: (error: ServingError) => void;
  readonly deadlineMs: number;
  readonly stopListening: () => void;
};

/** Node cuts a timer's delay to whole milliseconds, so it may come this much before its time. */
const TIMER_STEP_MS = 1;

export type StreamRequest = {
  /** Unique on this stream, and in the message. */
  readonly id: string;
  /** The message. */
  readonly bytes: Buffer;
  /** Milliseconds on the clock of `performance.now()`. */
  readonly deadlineMs: number;
  readonly signal: AbortSignal | undefined;
};

export class InferStream {
  readonly #connection: Connection;
  readonly #stream: ClientDuplexStream<Buffer, StreamAnswer>;
  readonly #onEnd: (stream: InferStream, error: ServingError | undefined) => void;
  readonly #waiting = new Map<string, Waiting>();
  #timer: NodeJS.Timeout | undefined;
  #timerAtMs = Number.POSITIVE_INFINITY;
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
    this.#stream = connection.client.makeBidiStreamRequest(pathOf(METHOD), asTheyAre, readStreamAnswer, metadata, {});
    this.#stream.on('data', (answer: StreamAnswer) => this.#onAnswer(answer));
    this.#stream.on('error', (error: ServiceError) => this.#end(error));
    this.#stream.on('end', () => this.#end(undefined));
  }

  /** Takes requests. */
  get open(): boolean {
    return !this.#retired && !this.#ended;
  }

  /** Ends by its deadline, whatever the server does. Rejects with a ServingError. */
  infer({ id, bytes, deadlineMs, signal }: StreamRequest): Promise<InferAnswer> {
    return new Promise((resolve, reject) => {
      const stopListening = onAbort(signal, () => this.#giveUp(id, cancelled(signal!)));
      this.#waiting.set(id, { resolve, reject, deadlineMs, stopListening });
      if (deadlineMs < this.#timerAtMs) this.#wakeAt(deadlineMs);
      this.#stream.write(bytes);
    });
  }

  /** Ends now. Whoever waits is told that the client is closed. */
  close(): void {
    const error = new ServingError('INFERENCE_UNAVAILABLE', `${METHOD}: the client is closed`);
    this.#finish(error, error);
    this.#stream.cancel();
  }

  #onAnswer({ error, answer }: StreamAnswer): void {
    const waiting = this.#take(answer.id);
    // Of a caller that gave up, or of nobody: an error without an id is not ours to place.
    if (waiting === undefined) return;
    if (error !== '') waiting.reject(fromStreamError(error, this.#connection.endpoint.name));
    else waiting.resolve(answer);
    this.#cancelIfDone();
  }

  /** One timer for all deadlines: to set and clear one a request costs more than all else here. The stream keeps the process alive, not this. */
  #wakeAt(atMs: number): void {
    clearTimeout(this.#timer);
    this.#timerAtMs = atMs;
    // Not at once: a process that was busy finds its timer due before it has read what has long arrived.
    const onDue = () => void setImmediate(() => this.#onDue());
    this.#timer = setTimeout(onDue, Math.max(0, atMs - performance.now())).unref();
  }

  #onDue(): void {
    if (this.#ended) return;
    this.#timerAtMs = Number.POSITIVE_INFINITY;
    const dueMs = performance.now() + TIMER_STEP_MS;
    let next = Number.POSITIVE_INFINITY;
    for (const [id, { deadlineMs }] of [...this.#waiting]) {
      if (deadlineMs > dueMs) next = Math.min(next, deadlineMs);
      else this.#onOverdue(id);
    }
    if (next < this.#timerAtMs && !this.#ended) this.#wakeAt(next);
  }

  #onOverdue(id: string): void {
    this.#retired = true;
    const where = this.#connection.endpoint.name;
    this.#giveUp(id, new ServingError('INFERENCE_DEADLINE', `${METHOD} at ${where}: no answer in time`));
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
    waiting.stopListening();
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
      method: METHOD,
      endpoint: this.#connection.endpoint.name,
      aborted: false,
    });
    this.#finish(known, known);
  }

  #finish(forWaiting: ServingError | undefined, forOwner: ServingError | undefined): void {
    if (this.#ended) return;
    this.#ended = true;
    clearTimeout(this.#timer);
    for (const id of [...this.#waiting.keys()]) {
      if (forWaiting !== undefined) this.#take(id)?.reject(forWaiting);
    }
    this.#onEnd(this, forOwner);
  }
}

function cancelled(signal: AbortSignal): ServingError {
  return new ServingError('INFERENCE_CANCELLED', `${METHOD} was cancelled by its caller`, {
    cause: signal.reason,
  });
}
