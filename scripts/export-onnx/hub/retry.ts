/**
 * What is done about a hub's answer that is not the file. Pure: time and chance are arguments.
 *
 * Attempts are counted from the last byte that arrived: a slow line may break often, as long as it brings the file nearer.
 */
import { ServingError } from '../../../src/errors.ts';
import { backoffMs } from '../../../src/resilience/backoff.ts';

export type RetryPolicy = {
  /** Failures in a row after which it is given up. */
  readonly attempts: number;
  readonly firstDelayMs: number;
  readonly maxDelayMs: number;
  /** Longest silence of a connection. */
  readonly stallMs: number;
};

export const DEFAULT_RETRY: RetryPolicy = { attempts: 5, firstDelayMs: 1_000, maxDelayMs: 60_000, stallMs: 30_000 };

export type Answer = {
  readonly status: number;
  /** The hub's own word for it: GatedRepo, RepoNotFound, RevisionNotFound, EntryNotFound. */
  readonly errorCode?: string | undefined;
  readonly retryAfter?: string | undefined;
};

/** Undefined: worth another attempt. */
export function refusal({ status, errorCode }: Answer, what: string, hasToken: boolean): ServingError | undefined {
  if (status === 408 || status === 429 || status >= 500) return undefined;
  return new ServingError('DEPENDENCY_MISSING', `${what}: ${reason(status, errorCode, hasToken)}`, {
    details: { status },
  });
}

function reason(status: number, errorCode: string | undefined, hasToken: boolean): string {
  if (errorCode === 'GatedRepo' || status === 403) {
    return hasToken
      ? `the hub refuses access (${status}): accept the model's terms on its page, or use a token of an account that did`
      : `the hub refuses access (${status}): accept the model's terms on its page and set HF_TOKEN`;
  }
  if (status === 401) {
    return hasToken
      ? 'the hub does not know the token in HF_TOKEN (401), or the model does not exist for it'
      : 'the hub wants a token (401): set HF_TOKEN; it answers the same for a model that does not exist';
  }
  if (errorCode === 'RevisionNotFound') return 'the hub has no such revision (404): check --revision';
  if (status === 404) return 'the hub has nothing under this name (404): check --model and --revision';
  return `the hub answered ${status}`;
}

/** How long to wait before the next attempt; `failures` counts those in a row, from 1. */
export function delayMs(policy: RetryPolicy, failures: number, answer: Answer | undefined, random: number): number {
  const asked = Number(answer?.retryAfter);
  if (Number.isFinite(asked) && asked > 0) return Math.min(asked * 1000, policy.maxDelayMs);
  return backoffMs(failures, { baseMs: policy.firstDelayMs, maxMs: policy.maxDelayMs }, random);
}
