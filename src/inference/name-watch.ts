/**
 * Asks for the addresses of a name, again and again, and tells who joined and who left.
 *
 * grpc-js asks only after a connection was lost, so that a server which is new would get no call as long as the others
 * live. The known addresses are kept for as long as nobody answers. Nothing is asked before `start`, and no timer of it
 * keeps the process alive.
 */
import { boundedWait } from '../bounded-wait.ts';
import { ServingError } from '../errors.ts';
import { Membership, type MembershipChange } from '../resilience/membership.ts';
import type { AddressLookup } from './addresses.ts';

export type NameWatchOptions = {
  /** As configured, for messages. */
  readonly name: string;
  readonly host: string;
  readonly lookup: AddressLookup;
  readonly everyMs: number;
  onChange(change: MembershipChange): void;
  /** Told at the first failure after a success, and not again before the next one. */
  onFailure(error: ServingError): void;
};

const LOOKUP_TIMEOUT_MS = 5_000;
/** Not sooner after the last question, whoever asks for it. */
const SOONEST_MS = 500;

export class NameWatch {
  readonly #options: NameWatchOptions;
  readonly #members = new Membership();
  #timer: NodeJS.Timeout | undefined;
  #asking: Promise<void> | undefined;
  /** The last question has no answer yet, though nobody waits for it any more. */
  #outstanding = false;
  #askedAtMs = Number.NEGATIVE_INFINITY;
  #failure: ServingError | undefined;
  #stopped = false;

  constructor(options: NameWatchOptions) {
    this.#options = options;
  }

  /** Why the name has no address that could be called; undefined when it has one, or has not been asked for. */
  get failure(): ServingError | undefined {
    return this.#members.size > 0 ? undefined : this.#failure;
  }

  start(): void {
    if (this.#timer !== undefined || this.#stopped) return;
    this.#timer = setInterval(() => void this.#ask(), this.#options.everyMs).unref();
    void this.#ask();
  }

  /** Somebody was not to be reached: the addresses may have changed. Resolves with the answer, or its failure. */
  soon(nowMs: number): Promise<void> {
    if (this.#asking !== undefined) return this.#asking;
    return nowMs - this.#askedAtMs < SOONEST_MS ? Promise.resolve() : this.#ask();
  }

  stop(): void {
    this.#stopped = true;
    clearInterval(this.#timer);
  }

  #ask(): Promise<void> {
    if (this.#stopped || this.#outstanding) return Promise.resolve();
    this.#asking ??= this.#askNow().finally(() => {
      this.#asking = undefined;
    });
    return this.#asking;
  }

  async #askNow(): Promise<void> {
    const { name, host, lookup, onChange, onFailure } = this.#options;
    this.#askedAtMs = performance.now();
    try {
      this.#outstanding = true;
      const looking = lookup(host).finally(() => {
        this.#outstanding = false;
      });
      const limit = { maxWaitMs: LOOKUP_TIMEOUT_MS };
      const found = await boundedWait(looking, limit, () => new Error(`no answer within ${LOOKUP_TIMEOUT_MS} ms`));
      if (this.#stopped) return;
      if (found.length === 0) throw new Error('the answer has no address');
      this.#failure = undefined;
      const change = this.#members.answer(found);
      if (change.joined.length + change.left.length > 0) onChange(change);
    } catch (cause) {
      if (this.#stopped) return;
      const first = this.#failure === undefined;
      this.#failure = unresolved(name, cause);
      if (first) onFailure(this.#failure);
    }
  }
}

function unresolved(name: string, cause: unknown): ServingError {
  const code = cause instanceof Error && 'code' in cause ? ` (${String(cause.code)})` : '';
  return new ServingError(
    'INFERENCE_UNAVAILABLE',
    `the addresses of ${name} could not be looked up${code}: check the name and the name server`,
    { cause, details: { endpoint: name } },
  );
}
