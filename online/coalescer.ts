/**
 * Queries that come within one turn of the event loop travel as one request: a call costs the same for one row as for
 * thirty. None waits for another: what has come is sent at the end of the turn.
 *
 * What belongs to a query stays its own: its vector or the fault of it, its cancellation, and its deadline, for only those
 * that end within a millisecond of each other are put together. When the model refuses or fails a request of several, each
 * is asked once more alone, so that one bad query fails no other.
 */
import { setMaxListeners } from 'node:events';
import { isServingError } from '../src/errors.ts';
import { onAbort } from '../src/on-abort.ts';
import { type Budget, cancelled } from './budget.ts';
import type { Row } from './embedder.ts';

/** What became of queries, a row each, in their order. */
export type Asked<C> = { readonly contract: C; readonly rows: readonly Row[] };

export type CoalescerOptions<C> = {
  /** Queries in a request; asked each time, for it is the model's affair. */
  readonly most: () => number;
  readonly ask: (texts: readonly string[], budget: Budget) => Promise<Asked<C>>;
};

type Member<C> = {
  readonly text: string;
  readonly budget: Budget;
  readonly resolve: (asked: Asked<C>) => void;
  readonly reject: (error: unknown) => void;
};

const DEADLINE_SPREAD_MS = 1;

export class Coalescer<C> {
  readonly #options: CoalescerOptions<C>;
  #batch: Member<C>[] = [];

  constructor(options: CoalescerOptions<C>) {
    this.#options = options;
  }

  /** One row. Rejects as `ask` does. */
  ask(text: string, budget: Budget): Promise<Asked<C>> {
    return new Promise((resolve, reject) => {
      const first = this.#batch[0];
      const fits =
        first !== undefined && Math.abs(first.budget.deadlineMs - budget.deadlineMs) <= DEADLINE_SPREAD_MS / 2;
      if (first !== undefined && (!fits || this.#batch.length >= this.#options.most())) this.#send();
      if (this.#batch.length === 0) setImmediate(this.#onTurnEnd, this.#batch);
      this.#batch.push({ text, budget, resolve, reject });
    });
  }

  /** Of a batch that was sent before its turn ended nothing is left to do. */
  readonly #onTurnEnd = (batch: readonly Member<C>[]) => {
    if (batch === this.#batch) this.#send();
  };

  #send(): void {
    const members = this.#batch;
    this.#batch = [];
    const [only] = members;
    if (members.length === 1 && only !== undefined)
      this.#options.ask([only.text], only.budget).then(only.resolve, only.reject);
    else void this.#sendTogether(members);
  }

  async #sendTogether(members: readonly Member<C>[]): Promise<void> {
    const left = new Set(members);
    const stop = new AbortController();
    setMaxListeners(0, stop.signal);
    const stopListening = members.map((member) =>
      onAbort(member.budget.signal, () => {
        left.delete(member);
        member.reject(cancelled(member.budget.signal!));
        if (left.size === 0) stop.abort();
      }),
    );
    const budget: Budget = {
      deadlineMs: Math.min(...members.map(({ budget: { deadlineMs } }) => deadlineMs)),
      signal: stop.signal,
      ...traceOf(members.map((member) => member.budget)),
    };
    try {
      const { contract, rows } = await this.#options.ask(
        members.map(({ text }) => text),
        budget,
      );
      members.forEach((member, index) => void member.resolve({ contract, rows: [rows[index]!] }));
    } catch (error) {
      for (const member of left) {
        if (mayBeOfOne(error)) this.#options.ask([member.text], member.budget).then(member.resolve, member.reject);
        else member.reject(error);
      }
    } finally {
      for (const stopOne of stopListening) stopOne();
    }
  }
}

/** One request has one parent; to the others it is linked. */
function traceOf(budgets: readonly Budget[]): Pick<Budget, 'traceparent' | 'span' | 'alsoFor'> {
  const traced = budgets.find(({ span }) => span?.recording === true);
  if (traced === undefined) return { traceparent: budgets[0]!.traceparent, span: budgets[0]!.span };
  const { traceparent, span } = traced;
  const alsoFor = budgets.flatMap((other) => (other.span === undefined || other === traced ? [] : [other.span]));
  return { traceparent, span, alsoFor };
}

/** An error that may come from one text of several. */
function mayBeOfOne(error: unknown): boolean {
  return isServingError(
    error,
    'INFERENCE_REJECTED',
    'INFERENCE_FAILED',
    'INFERENCE_MESSAGE_TOO_LARGE',
    'INFERENCE_RESPONSE_INVALID',
  );
}
