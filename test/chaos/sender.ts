/** Keeps the load up: takes from the stream, sends, tells the model what was acknowledged; can be held for a check. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { ChaosBroker } from './broker.ts';
import type { ProducedModel } from './model.ts';
import type { Stream } from './stream.ts';

const EVERY_MS = 100;
const MESSAGES_AT_ONCE = 12;
/** Every so often far more at once than is done in a moment. */
const BURST_EVERY = 20;
const BURST = 250;

export class Sender {
  readonly #stream: Stream;
  readonly #broker: ChaosBroker;
  readonly #model: ProducedModel;
  #stop = new AbortController();
  #sending: Promise<void> = Promise.resolve();

  constructor(stream: Stream, broker: ChaosBroker, model: ProducedModel) {
    this.#stream = stream;
    this.#broker = broker;
    this.#model = model;
  }

  begin(): void {
    const { signal } = (this.#stop = new AbortController());
    this.#sending = this.#send(signal);
    // Whoever ends it hears of its failure.
    this.#sending.catch(() => undefined);
  }

  /** Resolves when all that was taken is acknowledged. */
  end(): Promise<void> {
    this.#stop.abort();
    return this.#sending;
  }

  async #send(signal: AbortSignal): Promise<void> {
    for (let turn = 1; !signal.aborted; turn++) {
      const messages = this.#stream.take(turn % BURST_EVERY === 0 ? BURST : MESSAGES_AT_ONCE);
      this.#model.sending(messages);
      this.#model.acknowledged(await this.#broker.send(messages));
      await sleep(EVERY_MS);
    }
  }
}
