/** Calls `fire` once when the signal aborts, until it is told to stop listening. Without a signal nothing happens. */
export function onAbort(signal: AbortSignal | undefined, fire: () => void): () => void {
  if (signal === undefined) return NOTHING;
  signal.addEventListener('abort', fire, { once: true });
  return () => signal.removeEventListener('abort', fire);
}

const NOTHING = () => {};
