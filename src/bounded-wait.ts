/** A wait that always ends. Giving up does not stop the work: it goes on by itself, and its end is ignored. */

export type WaitEnd = 'timeout' | 'aborted';

export type WaitLimits = {
  readonly maxWaitMs?: number | undefined;
  readonly signal?: AbortSignal | undefined;
};

/** The work's own end, or the error that `gaveUp` makes of why it was not waited for any longer. */
export async function boundedWait<T>(
  work: Promise<T>,
  { maxWaitMs, signal }: WaitLimits,
  gaveUp: (end: WaitEnd) => Error,
): Promise<T> {
  let stopWaiting = (): void => {};
  const givenUp = new Promise<never>((_, reject) => {
    const onAbort = () => reject(gaveUp('aborted'));
    const timer = maxWaitMs === undefined ? undefined : setTimeout(() => reject(gaveUp('timeout')), maxWaitMs);
    stopWaiting = () => {
      clearTimeout(timer);
      signal?.removeEventListener('abort', onAbort);
    };
    if (signal?.aborted) onAbort();
    else signal?.addEventListener('abort', onAbort, { once: true });
  });
  try {
    return await Promise.race([work, givenUp]);
  } finally {
    stopWaiting();
  }
}
