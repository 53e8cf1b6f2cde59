/** How long to wait before the next attempt. Pure: the caller brings the random number and does the waiting. */
export type BackoffPolicy = {
  readonly baseMs: number;
  readonly maxMs: number;
};

/**
 * Exponential with full-range jitter over the upper half: attempt 1 waits between baseMs/2 and baseMs, each further
 * attempt twice as long, never over maxMs.
 *
 * @param attempt 1 for the first retry
 * @param random in [0, 1)
 */
export function backoffMs(attempt: number, policy: BackoffPolicy, random: number): number {
  // 2^30 × any base is past every cap; without the limit the power itself would overflow to Infinity.
  const ceiling = Math.min(policy.maxMs, policy.baseMs * 2 ** Math.min(attempt - 1, 30));
  return ceiling / 2 + (ceiling / 2) * random;
}

/** The longest that so many retries can take between the first failure and the last attempt, the attempts themselves aside. */
export function longestSpanMs(retries: number, policy: BackoffPolicy): number {
  let spanMs = 0;
  for (let attempt = 1; attempt <= retries; attempt++) spanMs += backoffMs(attempt, policy, 1);
  return spanMs;
}
