/**
 * Sends messages in batches, a few batches at once, and waits when more come: memory stays bounded however long the
 * input is. A message that the broker finds too large is singled out; the rest of its batch goes on.
 */
import { asServingError, isServingError, type ServingError } from '../../src/errors.ts';
import type { Outgoing } from '../files/message.ts';

export type Write = (messages: readonly Outgoing[]) => Promise<void>;

export type SenderOptions = {
  readonly write: Write;
  readonly maxBatchMessages: number;
  readonly maxBatchBytes: number;
  readonly maxBatchesInFlight: number;
  onAcknowledged(messages: readonly Outgoing[]): void;
  /** The broker refuses this one message for good. */
  onRefused(message: Outgoing, error: ServingError): void;
};

export class Sender {
  readonly #options: SenderOptions;
  readonly #inFlight = new Set<Promise<void>>();
  #batch: Outgoing[] = [];
  #bytes = 0;
  #failure: ServingError | undefined;

  constructor(options: SenderOptions) {
    this.#options = options;
  }

  /** Resolves when there is room for the next. Rejects once a batch could not be written. */
  async add(message: Outgoing): Promise<void> {
    const { maxBatchMessages, maxBatchBytes, maxBatchesInFlight } = this.#options;
    const size = message.value.byteLength;
    if (this.#batch.length > 0 && this.#bytes + size > maxBatchBytes) this.#dispatch();
    this.#batch.push(message);
    this.#bytes += size;
    if (this.#batch.length >= maxBatchMessages) this.#dispatch();
    while (this.#inFlight.size >= maxBatchesInFlight) await Promise.race(this.#inFlight);
    if (this.#failure !== undefined) throw this.#failure;
  }

  /** Resolves when everything added has been acknowledged. */
  async finish(): Promise<void> {
    if (this.#failure === undefined) this.#dispatch();
    await Promise.all(this.#inFlight);
    if (this.#failure !== undefined) throw this.#failure;
  }

  #dispatch(): void {
    const batch = this.#batch;
    this.#batch = [];
    this.#bytes = 0;
    if (batch.length === 0) return;
    const work = this.#send(batch)
      .catch((error: unknown) => {
        this.#failure ??= asServingError(error);
      })
      .finally(() => this.#inFlight.delete(work));
    this.#inFlight.add(work);
  }

  async #send(batch: readonly Outgoing[]): Promise<void> {
    try {
      await this.#options.write(batch);
      this.#options.onAcknowledged(batch);
    } catch (error) {
      if (!isServingError(error, 'CHUNK_TOO_LARGE')) throw error;
      const [only] = batch;
      if (batch.length === 1 && only !== undefined) this.#options.onRefused(only, error);
      else for (const message of batch) await this.#send([message]);
    }
  }
}
