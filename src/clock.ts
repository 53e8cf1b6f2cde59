/** Time as an argument: decisions take `now`; whoever needs a source of it takes a Clock. */
export type Clock = {
  /** Milliseconds since some fixed point, never going back. For durations and deadlines. */
  monotonicMs(): number;
  /** Milliseconds since the Unix epoch. For timestamps that leave the process. */
  wallMs(): number;
};

export const systemClock: Clock = {
  monotonicMs: () => performance.now(),
  wallMs: () => Date.now(),
};
