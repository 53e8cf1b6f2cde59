/**
 * The stream of one connection, made at its first request and made anew when it has ended or owes an overdue answer.
 *
 * A server or proxy without streams says so at the first try; it is asked again after a while, for it may have been replaced.
 */
import type { Metadata } from '@grpc/grpc-js';
import { isServingError, ServingError } from '../errors.ts';
import type { InferAnswer } from '../kserve/infer-answer.ts';
import type { Connection } from './endpoint-pool.ts';
import { InferStream, type StreamRequest } from './infer-stream.ts';

const ASK_AGAIN_MS = 60_000;

export class StreamLane {
  readonly #connection: Connection;
  readonly #metadata: Metadata;
  readonly #retired = new Set<InferStream>();
  #current: InferStream | undefined;
  #refusedUntilMs = 0;
  #closed = false;

  constructor(connection: Connection, metadata: Metadata) {
    this.#connection = connection;
    this.#metadata = metadata;
  }

  /** False while the other side is known to take no streams. */
  isOffered(nowMs: number): boolean {
    return nowMs >= this.#refusedUntilMs;
  }

  /** Rejects with INFERENCE_UNSUPPORTED when the other side takes no streams; nothing was computed then. */
  infer(request: StreamRequest): Promise<InferAnswer> {
    if (this.#closed) return Promise.reject(new ServingError('INFERENCE_UNAVAILABLE', 'the client is closed'));
    return this.#open().infer(request);
  }

  close(): void {
    this.#closed = true;
    for (const stream of [...this.#retired]) stream.close();
    this.#current?.close();
  }

  #open(): InferStream {
    if (this.#current?.open === true) return this.#current;
    if (this.#current !== undefined) this.#retired.add(this.#current);
    this.#current = new InferStream(this.#connection, this.#metadata, (ended, error) => this.#onEnd(ended, error));
    return this.#current;
  }

  #onEnd(ended: InferStream, error: ServingError | undefined): void {
    this.#retired.delete(ended);
    if (this.#current === ended) this.#current = undefined;
    if (isServingError(error, 'INFERENCE_UNSUPPORTED')) this.#refusedUntilMs = performance.now() + ASK_AGAIN_MS;
  }
}
