/**
 * When a model must pass its golden check, and whether it has. Pure: a look at the model server comes in, and somebody else
 * makes the check.
 *
 * A model must pass once each time it was loaded. Servers do not say when that was: the counts of their inferences do, which
 * begin anew. Where no counts are to be had, a model that did not answer for a look counts as loaded anew.
 */
import type { CheckReport } from './verdict.ts';

export type Seen = {
  readonly answers: boolean;
  /** What the model says of itself; undefined while it is not known. */
  readonly fingerprint: string | undefined;
  /** Inferences since they were loaded, of every model of the server; undefined where it does not tell. */
  readonly inferences: ReadonlyMap<string, number> | undefined;
};

export type GateResult = { readonly state: 'pass' | 'fail'; readonly reason: string | undefined };

type State =
  | { readonly kind: 'due'; readonly reason: string }
  | { readonly kind: 'checking' }
  | { readonly kind: 'passed' }
  /** No further check changes it until the model is loaded anew. */
  | { readonly kind: 'differs'; readonly reason: string };

const LONGEST_REASON = 300;

export class GoldenGate {
  #state: State = { kind: 'due', reason: 'not checked yet' };
  #load = 0;
  #answers = false;
  #fingerprint: string | undefined;
  #inferences: ReadonlyMap<string, number> | undefined;

  /** True when it must be checked now: tell `started`, make the check, tell `ended`. */
  see(seen: Seen): boolean {
    if (this.#isLoadedAnew(seen)) {
      this.#load++;
      this.#state = { kind: 'due', reason: 'the model was loaded anew and is not checked yet' };
    }
    this.#answers = seen.answers;
    this.#fingerprint = seen.fingerprint ?? this.#fingerprint;
    this.#inferences = remembered(this.#inferences, seen.inferences);
    return seen.answers && this.#state.kind === 'due';
  }

  /** What `ended` is to be told, so that a check of a model that has gone meanwhile counts for nothing. */
  started(): number {
    this.#state = { kind: 'checking' };
    return this.#load;
  }

  ended(load: number, { outcome, reasons }: Pick<CheckReport, 'outcome' | 'reasons'>): void {
    if (load !== this.#load) return;
    const reason = (reasons[0] ?? outcome).slice(0, LONGEST_REASON);
    if (outcome === 'equal') this.#state = { kind: 'passed' };
    else this.#state = { kind: outcome === 'differs' ? 'differs' : 'due', reason };
  }

  get result(): GateResult {
    const state = this.#state;
    if (state.kind === 'passed') return { state: 'pass', reason: undefined };
    return { state: 'fail', reason: state.kind === 'checking' ? 'is being checked' : state.reason };
  }

  #isLoadedAnew({ answers, fingerprint, inferences }: Seen): boolean {
    if (fingerprint !== undefined && this.#fingerprint !== undefined && fingerprint !== this.#fingerprint) return true;
    if (inferences === undefined || this.#inferences === undefined) return this.#answers && !answers;
    return [...inferences].some(([model, count]) => count < (this.#inferences?.get(model) ?? 0));
  }
}

/** A model that is gone comes back with a lower count than any. */
function remembered(
  before: ReadonlyMap<string, number> | undefined,
  now: ReadonlyMap<string, number> | undefined,
): ReadonlyMap<string, number> | undefined {
  if (before === undefined || now === undefined) return now ?? before;
  return new Map([...[...before.keys()].map((model) => [model, Number.POSITIVE_INFINITY] as const), ...now]);
}
