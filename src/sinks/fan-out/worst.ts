/** The worst of what several stores have said; pure. */
import { type FailureClass, ServingError } from '../../errors.ts';
import type { RowOutcome } from '../sink.ts';

const SEVERITY = { stored: 0, superseded: 1, refused: 2 } as const satisfies Record<RowOutcome['kind'], number>;

/** What no retry heals comes first: a worker must not wait out an outage that ends in a refusal to start. */
const URGENCY: Readonly<Record<FailureClass, number>> = { fatal: 4, caller: 3, chunk: 2, outage: 1, backpressure: 0 };

/** Row by row over the answers of all stores; the first store's where they are equally bad. */
export function worstOutcomes(answers: readonly (readonly RowOutcome[])[]): RowOutcome[] {
  const [first = [], ...others] = answers;
  return first.map((outcome, row) =>
    others.reduce((worst, answer) => {
      const next = answer[row]!;
      return SEVERITY[next.kind] > SEVERITY[worst.kind] ? next : worst;
    }, outcome),
  );
}

/** Never for an empty list. Its details name every store that failed. */
export function worstError(failures: readonly { readonly sink: string; readonly error: ServingError }[]): ServingError {
  const [worst] = failures
    .map(({ error }) => error)
    .toSorted((a, b) => URGENCY[b.failureClass] - URGENCY[a.failureClass]);
  const { code, message, cause, details } = worst!;
  return new ServingError(code, message, {
    cause,
    details: { ...details, failedSinks: failures.map(({ sink }) => sink).join(', ') },
  });
}
