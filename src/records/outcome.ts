/**
 * How one record's journey ended, and the function that says so.
 *
 * Nothing settles by default: JavaScript has no destructor, so a forgotten record must stall
 * visibly instead of counting as stored.
 */
import type { ServingError } from '../errors.ts';

export type Outcome =
  /** The store acknowledged the vector, or already held a newer revision of the chunk. */
  | { readonly kind: 'persisted' }
  | { readonly kind: 'deleted' }
  /** A newer revision of the same chunk, read later from Kafka, takes its place. */
  | { readonly kind: 'superseded' }
  /** Refused for now: the durable retry queue holds it, acknowledged. */
  | { readonly kind: 'handed-over'; readonly error: ServingError }
  | { readonly kind: 'dead-lettered'; readonly error: ServingError }
  /** Not done: shutdown or a lost partition. The offset stays open, so that it is read again. */
  | { readonly kind: 'abandoned' };

export type OutcomeKind = Outcome['kind'];

/** Called exactly once a record; later calls change nothing. */
export type Settle = (outcome: Outcome) => void;

const SEVERITY = {
  persisted: 0,
  deleted: 0,
  superseded: 0,
  'handed-over': 1,
  'dead-lettered': 2,
  abandoned: 3,
} as const satisfies Record<OutcomeKind, number>;

/** One parent outcome from `parts` child outcomes (a batch message and its chunks); the worst wins. */
export function settleWhenAll(parts: number, parent: Settle): Settle[] {
  let worst: Outcome = { kind: 'persisted' };
  let open = parts;
  return Array.from({ length: parts }, () => {
    let settled = false;
    return (outcome: Outcome) => {
      if (settled) return;
      settled = true;
      if (SEVERITY[outcome.kind] > SEVERITY[worst.kind]) worst = outcome;
      if (--open === 0) parent(worst);
    };
  });
}
