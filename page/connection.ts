/**
 * Follows /events, and begins anew whenever it ends. Read with fetch: a browser's own EventSource cannot send the API key in
 * a header, and an address is no place for a key.
 */
import type { StatusSnapshot } from '../src/ops/status-schema.ts';
import { EventText } from './event-text.ts';

export type Listener = {
  onStatus(status: StatusSnapshot): void;
  onLost(reason: string): void;
  /** The key is missing or wrong; nothing more is tried until there is another. */
  onRefused(): void;
};

/** The server says something every two seconds. */
const SILENCE_MS = 8_000;
const PAUSES_MS = [1_000, 2_000, 5_000] as const;

export class Connection {
  readonly #address: URL;
  readonly #listener: Listener;
  #current: AbortController | undefined;

  constructor(address: URL, listener: Listener) {
    this.#address = address;
    this.#listener = listener;
  }

  /** Ends what there was before. */
  open(key: string | undefined): void {
    this.close();
    this.#current = new AbortController();
    void this.#follow(key, this.#current.signal);
  }

  close(): void {
    this.#current?.abort();
    this.#current = undefined;
  }

  async #follow(key: string | undefined, signal: AbortSignal): Promise<void> {
    for (let failures = 0; !signal.aborted; failures++) {
      try {
        const response = await this.#ask(key, signal, () => (failures = 0));
        if (response === 'refused') return signal.aborted ? undefined : this.#listener.onRefused();
      } catch (error) {
        if (!signal.aborted) this.#listener.onLost(reasonOf(error));
      }
      await pause(PAUSES_MS[Math.min(failures, PAUSES_MS.length - 1)]!, signal);
    }
  }

  async #ask(key: string | undefined, closed: AbortSignal, onEvent: () => void): Promise<'refused' | undefined> {
    const silence = new AbortController();
    const quiet = () => silence.abort(new Error(`silent for ${SILENCE_MS / 1_000} seconds`));
    let timer = setTimeout(quiet, SILENCE_MS);
    try {
      const response = await fetch(this.#address, {
        headers: key === undefined ? {} : { authorization: `Bearer ${key}` },
        cache: 'no-store',
        signal: AbortSignal.any([closed, silence.signal]),
      });
      if (response.status === 401) return 'refused';
      if (response.status === 503) throw new Error('the server has too many readers or is busy');
      if (!response.ok || response.body === null) throw new Error(`the server answers ${response.status}`);
      const text = new EventText();
      const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
      for (;;) {
        const { done, value } = await reader.read();
        if (done) throw new Error('the server has closed the connection');
        clearTimeout(timer);
        timer = setTimeout(quiet, SILENCE_MS);
        for (const data of text.push(value)) {
          onEvent();
          this.#listener.onStatus(JSON.parse(data) as StatusSnapshot);
        }
      }
    } finally {
      clearTimeout(timer);
    }
  }
}

function reasonOf(error: unknown): string {
  // Browsers say of a server that is away only that fetching failed, each in its own words.
  if (error instanceof TypeError) return 'the server does not answer';
  return error instanceof Error ? error.message : 'the connection failed';
}

function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      clearTimeout(timer);
      signal.removeEventListener('abort', done);
      resolve();
    };
    const timer = setTimeout(done, ms);
    signal.addEventListener('abort', done);
  });
}
