/**
 * One search within one budget: embed, the caller's retrieval, rerank. Each step gets what the ones before it have left, and
 * embedding and reranking no more than their own limits; the last one can do without, so the retrieval may use all that is left.
 * A caller that gives a search longer than usual gives its parts longer in proportion.
 */
import { asServingError, isServingError, ServingError } from '../src/errors.ts';
import { checkTopK } from './arguments.ts';
import { type Budget, budgetOf, type CallLimits, cancelled, partOf } from './budget.ts';
import type { Online, OnlineParts, Reranked } from './online.ts';
import type { Candidate } from './rrf.ts';

export type RetrieveLimits = {
  readonly fingerprint: string;
  /** On the clock of `performance.now()`. */
  readonly deadline: number;
  /** The same as milliseconds from now. */
  readonly timeoutMs: number;
  /** Fires at the deadline, and when the caller of `search` gives up. */
  readonly signal: AbortSignal;
};

/** Candidates for a vector, best first: they come back in this order when there is no reranker. */
export type Retrieve<C extends Candidate> = (vector: Float32Array, limits: RetrieveLimits) => Promise<readonly C[]>;

export type SearchOptions = CallLimits & {
  /** How many results: all candidates unless given, whole and ≥ 0. */
  readonly topK?: number | undefined;
};

export type SearchResult<C extends Candidate> = Omit<Reranked, 'timing'> & {
  /** What `retrieve` gave; `results[i].index` is a place in it. */
  readonly candidates: readonly C[];
  readonly fingerprint: string;
  readonly timing: {
    readonly totalMs: number;
    readonly embedMs: number;
    readonly retrieveMs: number;
    readonly rerankMs: number;
  };
};

export async function runSearch<C extends Candidate>(
  online: Online,
  query: string,
  retrieve: Retrieve<C>,
  options: SearchOptions,
  { embed, rerank, searchTimeoutMs, clock }: OnlineParts,
): Promise<SearchResult<C>> {
  if (typeof retrieve !== 'function') throw new ServingError('ARGUMENT_INVALID', 'retrieve must be a function');
  checkTopK(options.topK, 0);
  const startedAtMs = clock.monotonicMs();
  const budget = budgetOf(options, searchTimeoutMs, clock);
  const longer = Math.max(1, (budget.deadlineMs - startedAtMs) / searchTimeoutMs);
  const { vector, fingerprint, timing } = await online.embed(
    query,
    limitsOf(partOf(budget, embed.timeoutMs * longer, startedAtMs)),
  );
  const retrievingAtMs = clock.monotonicMs();
  const candidates = await withinBudget(budget, retrievingAtMs, (signal) =>
    retrieve(vector, {
      fingerprint,
      deadline: budget.deadlineMs,
      timeoutMs: budget.deadlineMs - retrievingAtMs,
      signal,
    }),
  );
  const rerankingAtMs = clock.monotonicMs();
  const limits = limitsOf(partOf(budget, (rerank?.timeoutMs ?? 0) * longer, rerankingAtMs));
  const { results, source, degraded } = await online.rerank(query, candidates, { ...limits, topK: options.topK });
  const endedAtMs = clock.monotonicMs();
  return {
    results,
    source,
    degraded,
    candidates,
    fingerprint,
    timing: {
      totalMs: endedAtMs - startedAtMs,
      embedMs: timing.totalMs,
      retrieveMs: rerankingAtMs - retrievingAtMs,
      rerankMs: endedAtMs - rerankingAtMs,
    },
  };
}

function limitsOf({ deadlineMs, signal, traceparent }: Budget): CallLimits {
  return { deadline: deadlineMs, signal, traceparent };
}

/** The caller's own code may not end when it should; the search does. */
async function withinBudget<T>(budget: Budget, nowMs: number, run: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const { deadlineMs, signal } = budget;
  const stop = new AbortController();
  const tooLate = new ServingError('RETRIEVAL_DEADLINE', 'retrieve took longer than the budget of the search');
  const onAbort = () => stop.abort(cancelled(signal!));
  const timer = setTimeout(() => stop.abort(tooLate), Math.max(0, deadlineMs - nowMs));
  signal?.addEventListener('abort', onAbort, { once: true });
  try {
    return await Promise.race([run(stop.signal), firing(stop.signal)]);
  } catch (error) {
    // What `retrieve` makes of its signal is not told instead of the signal's own reason.
    if (stop.signal.aborted && !isServingError(error)) throw asServingError(stop.signal.reason);
    throw error;
  } finally {
    clearTimeout(timer);
    signal?.removeEventListener('abort', onAbort);
  }
}

function firing(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason), { once: true });
  });
}
