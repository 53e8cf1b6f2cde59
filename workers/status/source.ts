/**
 * One thing that is asked again and again, and what it said last. A source that is slow is not asked twice at the same time and
 * holds nobody up; one that is away is shown with its code, and the rest goes on.
 */
import { boundedWait } from '../../src/bounded-wait.ts';
import { asServingError, type ErrorCode } from '../../src/errors.ts';

export type Reading<T> =
  /** Asked, and no answer yet. */
  | { readonly kind: 'asking' }
  | { readonly kind: 'known'; readonly value: T; readonly atMs: number }
  | { readonly kind: 'away'; readonly code: ErrorCode; readonly reason: string; readonly atMs: number }
  /** There is nothing to ask by these settings. */
  | { readonly kind: 'off'; readonly reason: string };

export class PolledSource<T> {
  readonly #ask: (signal: AbortSignal) => Promise<T>;
  readonly #redact: (text: string) => string;
  #reading: Reading<T> = { kind: 'asking' };
  #asking: Promise<void> | undefined;

  constructor(ask: (signal: AbortSignal) => Promise<T>, redact: (text: string) => string) {
    this.#ask = ask;
    this.#redact = redact;
  }

  get reading(): Reading<T> {
    return this.#reading;
  }

  /** Resolves when the answer is there, or it is known that there is none; never rejects. */
  look(nowMs: () => number, signal: AbortSignal): Promise<void> {
    this.#asking ??= this.#look(nowMs, signal).finally(() => {
      this.#asking = undefined;
    });
    return this.#asking;
  }

  async #look(nowMs: () => number, signal: AbortSignal): Promise<void> {
    try {
      // Not everything that is asked can be told to stop.
      const value = await boundedWait(this.#ask(signal), { signal }, () => new Error('stopped'));
      this.#reading = { kind: 'known', value, atMs: nowMs() };
    } catch (thrown) {
      if (signal.aborted) return;
      const { code, message } = asServingError(thrown);
      this.#reading = { kind: 'away', code, reason: this.#redact(message), atMs: nowMs() };
    }
  }
}

/** The value, while it is known. */
export function knownValue<T>(reading: Reading<T>): T | undefined {
  return reading.kind === 'known' ? reading.value : undefined;
}
