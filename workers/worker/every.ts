/** Work at intervals, never twice at once: what is due while it is under way is left out. Keeps no process alive. */
export function every(periodMs: number, work: () => Promise<void>): { stop(): void } {
  let running = false;
  const timer = setInterval(async () => {
    if (running) return;
    running = true;
    try {
      await work();
    } finally {
      running = false;
    }
  }, periodMs).unref();
  return { stop: () => clearInterval(timer) };
}
