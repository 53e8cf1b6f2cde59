/** The drain list of the worker: upstream first, the commit before anything that it does not need is closed. */

import type { DeadLetters } from '../../src/kafka/dead-letter.ts';
import type { Source } from '../../src/kafka/source.ts';
import type { DrainStep } from '../../src/lifecycle/drain.ts';
import type { Pipeline } from '../../src/pipeline/pipeline.ts';
import type { SharedMemory } from '../../src/shm/shared-memory.ts';
import type { Sink } from '../../src/sinks/sink.ts';

/** What has been opened so far; a worker that is stopped while it starts has only some of it. */
export type WorkerParts = {
  source?: Source;
  pipeline?: Pipeline;
  deadLetters?: DeadLetters;
  sink?: Sink;
  memory?: SharedMemory;
  client?: { close(): void };
  watch?: { stop(): void };
  lag?: { stop(): Promise<void> };
};

/** The share of the budget that work in flight may take; the rest is for the commit and the farewells. */
const WORK_SHARE = 0.75;

export function drainSteps(parts: WorkerParts, onAbandoned: (records: number) => void): DrainStep[] {
  const { source, pipeline, deadLetters, sink, memory, client, watch, lag } = parts;
  const steps: (DrainStep | undefined)[] = [
    source && { name: 'stop fetching', run: () => source.pause('draining') },
    pipeline && {
      name: 'finish work in flight',
      budgetShare: WORK_SHARE,
      run: async (signal) => {
        const abandoned = await pipeline.drain(signal);
        if (abandoned > 0) onAbandoned(abandoned);
      },
    },
    source && { name: 'commit and leave the group', limitMs: 10_000, run: (signal) => source.close(signal) },
    lag && { name: 'stop reading the lag', limitMs: 3_000, run: () => lag.stop() },
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
