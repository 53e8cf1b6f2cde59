/**
 * The client of a search: embed a query, rerank its candidates, or both around the caller's own retrieval.
 *
 * Embedding fails fast with a typed error, for without a vector there is nothing to search with. Reranking never fails for
 * want of a reranker: the candidates then come back in the order they came in, and say why.
 */
import type { Clock } from '../src/clock.ts';
import { asServingError, isServingError, ServingError } from '../src/errors.ts';
import type { VectorContract } from '../src/kserve/contract.ts';
import type { RerankerContract } from '../src/kserve/model-contract.ts';
import type { HostTracing } from '../src/telemetry/host-tracing.ts';
import type { Span } from '../src/telemetry/tracing.ts';
import { checkCandidates, checkQueries, checkQuery, checkTopK } from './arguments.ts';
import { type Budget, budgetOf, type CallLimits } from './budget.ts';
import { inCallSpan } from './call-span.ts';
import { type Asked, Coalescer } from './coalescer.ts';
import { type DegradedReason, degradedReasonOf } from './degraded.ts';
import { embedCall, type Row, vectorOf } from './embedder.ts';
import type { OnlineEvents, Operation, PoolName } from './events.ts';
import { type OnlineHealth, poolHealth } from './health.ts';
import type { ModelPool } from './model-pool.ts';
import type { ModelWatch } from './model-watch.ts';
import { rerankCall } from './reranker.ts';
import { byScore, type Candidate, inIncomingOrder, type Ranked } from './rrf.ts';
import { type Retrieve, runSearch, type SearchOptions, type SearchResult } from './search.ts';
import type { OnlineStats, StatsKeeper } from './stats.ts';
import { limitText } from './text-limit.ts';

export type Timing = {
  readonly totalMs: number;
  /** Requests to the model server; 0 when it was not asked. */
  readonly requests: number;
};

export type Embedded = {
  /** One a query, in their order. */
  readonly vectors: readonly Float32Array[];
  /** Identity of the model; vectors of two fingerprints cannot be compared. */
  readonly fingerprint: string;
  readonly timing: Timing;
};

export type EmbeddedQuery = Embedded & { readonly vector: Float32Array };

export type RerankOptions = CallLimits & {
  /** How many results: all unless given, whole and ≥ 0. */
  readonly topK?: number | undefined;
};

export type Reranked = {
  /** Best first. */
  readonly results: readonly Ranked[];
  /** `rrf`: the order in which the candidates came, scored by 1 / (60 + rank). */
  readonly source: 'cross-encoder' | 'rrf';
  /** Why it is not the reranker's order; undefined when it is. */
  readonly degraded: DegradedReason | undefined;
  readonly timing: Timing;
};

export type PoolParts<C extends { readonly modelName: string; readonly maxBatch: number }> = {
  readonly pool: ModelPool<C>;
  readonly watch: ModelWatch<C>;
  readonly modelName: string;
  readonly timeoutMs: number;
  readonly maxTextBytes: number;
};

export type OnlineParts = {
  readonly embed: PoolParts<VectorContract>;
  /** Undefined when reranking is switched off. */
  readonly rerank: PoolParts<RerankerContract> | undefined;
  /** Single queries that come together travel together. */
  readonly coalesce: boolean;
  readonly searchTimeoutMs: number;
  readonly stats: StatsKeeper;
  readonly events: OnlineEvents;
  readonly clock: Clock;
  /** Undefined where the host has no OpenTelemetry API. */
  readonly tracing: HostTracing | undefined;
};

const NOTHING: Reranked['results'] = [];
/** Single queries in one request, at most. */
const MOST_TOGETHER = 32;

export class Online {
  readonly #parts: OnlineParts;
  readonly #coalescer: Coalescer<VectorContract> | undefined;

  /** @internal made by `createOnline` */
  constructor(parts: OnlineParts) {
    this.#parts = parts;
    const { pool } = parts.embed;
    this.#coalescer = parts.coalesce
      ? new Coalescer({
          most: () => Math.min(MOST_TOGETHER, pool.contract?.maxBatch ?? 1),
          ask: (texts, budget) => askFor(pool, texts, budget),
        })
      : undefined;
  }

  /**
   * Vectors of one query or of several. Rejects with ARGUMENT_INVALID (also for a blank query), INFERENCE_CANCELLED,
   * INFERENCE_DEADLINE, OVERLOADED, BREAKER_OPEN, MODEL_NOT_READY or what the model server said. No query, no call.
   */
  embed(query: string, options?: CallLimits): Promise<EmbeddedQuery>;
  embed(queries: readonly string[], options?: CallLimits): Promise<Embedded>;
  embed(queries: string | readonly string[], options: CallLimits = {}): Promise<Embedded | EmbeddedQuery> {
    const { embed, clock } = this.#parts;
    return this.#counted('embed', options, async (span) => {
      const texts = typeof queries === 'string' ? [queries] : queries;
      if (!Array.isArray(texts)) throw new ServingError('ARGUMENT_INVALID', 'embed takes a string or an array of them');
      checkQueries(texts);
      const startedAtMs = clock.monotonicMs();
      span?.set({ 'rag_serving.rows': texts.length });
      const budget = budgetOf(options, embed.timeoutMs, clock, span);
      const limitedTexts = limited(texts, embed.maxTextBytes, 'embed', this.#parts.events);
      const { contract, rows } =
        this.#coalescer !== undefined && texts.length === 1
          ? await this.#coalescer.ask(limitedTexts[0]!, budget)
          : await askFor(embed.pool, limitedTexts, budget);
      const vectors = rows.map(vectorOf);
      const requests = Math.ceil(texts.length / contract.maxBatch);
      const timing = { totalMs: clock.monotonicMs() - startedAtMs, requests };
      const embedded = { vectors, fingerprint: contract.fingerprint, timing };
      return typeof queries === 'string' ? { ...embedded, vector: vectors[0]! } : embedded;
    });
  }

  /**
   * The candidates, best first. Rejects for wrong arguments (ARGUMENT_INVALID) and for a caller that has given up
   * (INFERENCE_CANCELLED), and for nothing else.
   */
  rerank(query: string, candidates: readonly Candidate[], options: RerankOptions = {}): Promise<Reranked> {
    return this.#counted('rerank', options, async (span) => {
      checkQuery(query, 'query');
      checkCandidates(candidates);
      const count = checkTopK(options.topK, candidates.length);
      const { rerank, clock } = this.#parts;
      const startedAtMs = clock.monotonicMs();
      span?.set({ 'rag_serving.rows': candidates.length });
      const budget = budgetOf(options, rerank?.timeoutMs ?? 1, clock, span);
      if (count === 0) {
        const timing = { totalMs: clock.monotonicMs() - startedAtMs, requests: 0 };
        return { results: NOTHING, source: 'cross-encoder', degraded: undefined, timing };
      }
      return this.#rerankOrNot(query, candidates, count, budget, startedAtMs);
    });
  }

  /**
   * Embeds the query, lets the caller retrieve candidates for its vector, and reranks them, all within one budget. Rejects
   * as `embed` does, with what `retrieve` throws, or with RETRIEVAL_DEADLINE when that takes the whole budget.
   */
  search<C extends Candidate>(
    query: string,
    retrieve: Retrieve<C>,
    options: SearchOptions = {},
  ): Promise<SearchResult<C>> {
    return this.#counted('search', options, () => runSearch(this, query, retrieve, options, this.#parts));
  }

  /** Resolves when every pool has been warmed up. Rejects with the signal's reason, or for a model that is not the one expected. */
  async ready(signal?: AbortSignal): Promise<void> {
    signal?.throwIfAborted();
    const { embed, rerank } = this.#parts;
    const warm = Promise.all([embed.watch.ready, rerank?.watch.ready]);
    if (signal === undefined) return void (await warm);
    await new Promise<void>((resolve, reject) => {
      const onAbort = () => reject(signal.reason);
      signal.addEventListener('abort', onAbort, { once: true });
      warm.then(() => resolve(), reject).finally(() => signal.removeEventListener('abort', onAbort));
    });
  }

  health(): OnlineHealth {
    const { embed, rerank, stats } = this.#parts;
    const { pools } = stats.read();
    const embedder = poolHealth(embed.pool, pools.embed.breakers, embed.pool.contract?.fingerprint);
    const reranker = rerank === undefined ? undefined : poolHealth(rerank.pool, pools.rerank.breakers, undefined);
    const degraded = reranker?.ready === false;
    return {
      status: embedder.ready ? (degraded ? 'degraded' : 'ready') : 'not-ready',
      embed: embedder,
      rerank: reranker,
    };
  }

  stats(): OnlineStats {
    return this.#parts.stats.read();
  }

  /** Ends what is under way: embeddings reject with INFERENCE_UNAVAILABLE, reranks come back in the incoming order. Safe to call twice. */
  async close(): Promise<void> {
    for (const part of [this.#parts.embed, this.#parts.rerank]) {
      part?.watch.stop();
      part?.pool.close();
    }
  }

  async #rerankOrNot(
    query: string,
    candidates: readonly Candidate[],
    count: number,
    budget: Budget,
    startedAtMs: number,
  ): Promise<Reranked> {
    const { rerank, clock, events } = this.#parts;
    const timing = (requests: number) => ({ totalMs: clock.monotonicMs() - startedAtMs, requests });
    let reason: DegradedReason;
    if (rerank === undefined) reason = 'off';
    else if (rerank.pool.closed) reason = 'closed';
    else if (query.trim() === '') reason = 'blank-query';
    else {
      try {
        const { scores, requests } = await score(rerank, events, query, candidates, budget);
        const results = byScore(candidates, scores, count);
        return { results, source: 'cross-encoder', degraded: undefined, timing: timing(requests) };
      } catch (thrown) {
        const error = asServingError(thrown);
        if (isServingError(error, 'INFERENCE_CANCELLED') && budget.signal?.aborted === true) throw error;
        reason = rerank.pool.closed ? 'closed' : degradedReasonOf(error);
      }
    }
    events.degraded(reason);
    return { results: inIncomingOrder(candidates, count), source: 'rrf', degraded: reason, timing: timing(0) };
  }

  async #counted<T extends object>(
    operation: Operation,
    limits: CallLimits,
    call: (span: Span | undefined) => Promise<T>,
  ): Promise<T> {
    const { clock, events, tracing } = this.#parts;
    const model = operation === 'search' ? undefined : this.#parts[operation]?.modelName;
    const startedAtMs = clock.monotonicMs();
    try {
      const result = await inCallSpan(tracing, operation, model, limits, call);
      const degraded = 'degraded' in result && result.degraded !== undefined;
      events.ended(operation, degraded ? 'degraded' : 'ok', clock.monotonicMs() - startedAtMs);
      return result;
    } catch (error) {
      const code = isServingError(error) ? error.code : 'INTERNAL';
      events.ended(operation, code, clock.monotonicMs() - startedAtMs);
      throw error;
    }
  }
}

async function askFor(
  pool: ModelPool<VectorContract>,
  texts: readonly string[],
  budget: Budget,
): Promise<Asked<VectorContract>> {
  const rows: Row[] = [];
  const call = embedCall(texts, (index, row) => {
    rows[index] = row;
  });
  const { contract } = await pool.run(call, budget);
  return { contract, rows };
}

async function score(
  { pool, maxTextBytes }: PoolParts<RerankerContract>,
  events: OnlineEvents,
  query: string,
  candidates: readonly Candidate[],
  budget: Budget,
): Promise<{ readonly scores: Float32Array; readonly requests: number }> {
  const scores = new Float32Array(candidates.length);
  const [limitedQuery] = limited([query], maxTextBytes, 'rerank', events);
  const texts = candidates.map(({ text }) => text);
  const passages = limited(texts, maxTextBytes, 'rerank', events);
  const { requests } = await pool.run(rerankCall(limitedQuery!, passages, scores), budget);
  return { scores, requests };
}

function limited(texts: readonly string[], maxBytes: number, pool: PoolName, events: OnlineEvents): string[] {
  return texts.map((text) => {
    const { text: short, cut } = limitText(text, maxBytes);
    if (cut) events.cut(pool);
    return short;
  });
}
