/**
 * InferenceClient whose connections can be replaced under its users: they hold one client for life.
 *
 * Calls that are under way at a replacement end at once, as those of a lost connection do: on a wedged channel their
 * answers would not come, and their slots would wait for the deadline.
 */
import { isServingError, ServingError } from '../errors.ts';
import type { InferRequest, InferResponse } from '../kserve/tensor.ts';
import type { CallOptions, InferenceClient, ModelDescription, SharedMemoryRegion } from './client.ts';

/** How a call ended: `answered` also by an error of the server; `unanswered` at its deadline or without a connection. */
export type CallEnd = 'answered' | 'unanswered';

/** Ended on our side, or never begun. */
const NOT_ASKED = ['INFERENCE_CANCELLED', 'ARGUMENT_INVALID', 'BREAKER_OPEN'] as const;

type Generation = { readonly client: InferenceClient; readonly calls: Set<AbortController>; replaced: boolean };

export class RenewableClient implements InferenceClient {
  readonly target: string;
  readonly #onEnd: (end: CallEnd) => void;
  #current: Generation;
  #closed = false;

  constructor(client: InferenceClient, onEnd: (end: CallEnd) => void = () => {}) {
    this.target = client.target;
    this.#onEnd = onEnd;
    this.#current = { client, calls: new Set(), replaced: false };
  }

  /** Takes over a client to the same server. After `close` it closes it. */
  renew(client: InferenceClient): void {
    if (this.#closed) {
      client.close();
      return;
    }
    const before = this.#current;
    this.#current = { client, calls: new Set(), replaced: false };
    before.replaced = true;
    for (const call of before.calls) call.abort();
    before.client.close();
  }

  serverLive(options: CallOptions): Promise<boolean> {
    return this.#run((client, bound) => client.serverLive(bound), options);
  }

  serverReady(options: CallOptions): Promise<boolean> {
    return this.#run((client, bound) => client.serverReady(bound), options);
  }

  modelReady(modelName: string, options: CallOptions): Promise<boolean> {
    return this.#run((client, bound) => client.modelReady(modelName, bound), options);
  }

  describeModel(modelName: string, options: CallOptions): Promise<ModelDescription> {
    return this.#run((client, bound) => client.describeModel(modelName, bound), options);
  }

  infer(request: InferRequest, options: CallOptions): Promise<InferResponse> {
    return this.#run((client, bound) => client.infer(request, bound), options);
  }

  registerSharedMemory(region: SharedMemoryRegion, options: CallOptions): Promise<void> {
    return this.#run((client, bound) => client.registerSharedMemory(region, bound), options);
  }

  unregisterSharedMemory(name: string, options: CallOptions): Promise<void> {
    return this.#run((client, bound) => client.unregisterSharedMemory(name, bound), options);
  }

  listSharedMemory(options: CallOptions): Promise<readonly SharedMemoryRegion[]> {
    return this.#run((client, bound) => client.listSharedMemory(bound), options);
  }

  close(): void {
    this.#closed = true;
    this.#current.client.close();
  }

  async #run<T>(call: (client: InferenceClient, options: CallOptions) => Promise<T>, options: CallOptions): Promise<T> {
    const { signal } = options;
    const generation = this.#current;
    // Not AbortSignal.any: a signal that lives as long as the process would collect its dependents.
    const abort = new AbortController();
    const giveUp = () => abort.abort(signal?.reason);
    if (signal?.aborted) giveUp();
    signal?.addEventListener('abort', giveUp, { once: true });
    generation.calls.add(abort);
    try {
      const result = await call(generation.client, { ...options, signal: abort.signal });
      this.#onEnd('answered');
      return result;
    } catch (error) {
      if (generation.replaced && signal?.aborted !== true) {
        throw new ServingError('INFERENCE_UNAVAILABLE', 'the connection was replaced while the call was under way', {
          cause: error,
        });
      }
      if (isServingError(error, 'INFERENCE_DEADLINE', 'INFERENCE_UNAVAILABLE')) this.#onEnd('unanswered');
      else if (!isServingError(error, ...NOT_ASKED)) this.#onEnd('answered');
      throw error;
    } finally {
      signal?.removeEventListener('abort', giveUp);
      generation.calls.delete(abort);
    }
  }
}
