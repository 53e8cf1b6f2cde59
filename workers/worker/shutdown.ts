/** The drain list of the worker: upstream first, the commit before anything that it does not need is closed. */

import type { DeadLetters } from '../../src/kafka/dead-letter.ts';
import type { Source } from '../../src/kafka/source.ts';
import type { DrainStep } from '../../src/lifecycle/drain.ts';
import type { Pipeline } from '../../src/pipeline/pipeline.ts';
import type { RetryQueue } from '../../src/retry/retry-queue.ts';
import type { SharedMemory } from '../../src/shm/shared-memory.ts';
import type { Sink } from '../../src/sinks/sink.ts';
import type { WorkInTime } from './work-in-time.ts';

/** What has been opened so far; a worker that is stopped while it starts has only some of it. */
export type WorkerParts = {
  source?: Source;
  pipeline?: Pipeline;
  work?: WorkInTime;
  deadLetters?: DeadLetters;
  retries?: RetryQueue;
  sink?: Sink;
  memory?: SharedMemory;
  client?: { close(): void };
  watch?: { stop(): void };
  lag?: { stop(): Promise<void> };
};

export type DrainPlan = {
  /** Of a budget, what is kept for the commit and the farewells. */
  keepMs(budgetMs: number): number;
  onAbandoned(records: number): void;
};

export function drainSteps(parts: WorkerParts, { keepMs, onAbandoned }: DrainPlan): DrainStep[] {
  const { source, pipeline, work, deadLetters, retries, sink, memory, client, watch, lag } = parts;
  const steps: (DrainStep | undefined)[] = [
    source && { name: 'stop fetching', run: () => source.pause('draining') },
    pipeline && {
      name: 'finish work in flight',
      keepMs,
      run: async (signal, limitAt) => {
        const nothingFits = work?.limit(limitAt);
        const abandoned = await pipeline.drain(nothingFits ? AbortSignal.any([signal, nothingFits]) : signal);
        if (abandoned > 0) onAbandoned(abandoned);
      },
    },
    source && { name: 'commit and leave the group', limitMs: 10_000, run: (signal) => source.close(signal) },
    lag && { name: 'stop reading the lag', limitMs: 3_000, run: () => lag.stop() },
    retries && { name: 'close the retry queue', limitMs: 6_000, run: (signal) => retries.close(signal) },
    deadLetters && { name: 'close the dead-letter producer', limitMs: 3_000, run: () => deadLetters.close() },
    sink && { name: 'close the store', limitMs: 6_000, run: () => sink.close() },
    watch && { name: 'stop watching the model server', run: () => watch.stop() },
    memory && {
      name: 'unregister and unlink shared memory',
      limitMs: 6_000,
      run: async (signal) => {
        const [error] = await memory.close(signal);
        if (error !== undefined) throw error;
      },
    },
    client && { name: 'close the connection to the model server', run: () => client.close() },
  ];
  return steps.filter((step) => step !== undefined);
}
