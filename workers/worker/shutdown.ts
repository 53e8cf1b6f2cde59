/**
 * The end of the worker: how long it may take, the drain list and its run. Upstream first, the commit before anything that
 * it does not need is closed. Whatever asks to stop while it runs can only make it shorter.
 */
import { systemClock } from '../../src/clock.ts';
import type { DeadLetters } from '../../src/kafka/dead-letter.ts';
import type { Source } from '../../src/kafka/source.ts';
import { Drain, type DrainStep, type StepReport } from '../../src/lifecycle/drain.ts';
import { drainBudgetMs, keptForFarewellMs } from '../../src/lifecycle/drain-budget.ts';
import type { PaceBoard } from '../../src/lifecycle/pace.ts';
import type { Pipeline } from '../../src/pipeline/pipeline.ts';
import type { RetryQueue } from '../../src/retry/retry-queue.ts';
import type { SharedMemory } from '../../src/shm/shared-memory.ts';
import type { Sink } from '../../src/sinks/sink.ts';
import type { Log } from '../../src/telemetry/log.ts';
import type { Metrics } from '../../src/telemetry/metrics.ts';
import type { StopSignals } from '../signals.ts';
import type { Eviction } from './eviction.ts';
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
  traces?: { close(signal: AbortSignal): Promise<void> };
};

export type StopReasons = {
  readonly signals: StopSignals;
  readonly eviction: Eviction;
  /** What a signal leaves. */
  readonly timeoutMs: number;
  /** A part failed for good while others are mid-flight: no new work, a short farewell. */
  readonly failed: boolean;
};

const HURRY_MS = 3_000;
const FATAL_BUDGET_MS = 5_000;

/** Resolves with the number of records that were abandoned: not committed, read again. */
export async function drainWorker(
  parts: WorkerParts,
  reasons: StopReasons,
  board: PaceBoard,
  metrics: Metrics,
  log: Log,
): Promise<number> {
  const { signals, eviction, failed } = reasons;
  const budgetMs = failed ? FATAL_BUDGET_MS : askedBudgetMs(reasons);
  const expected = rounded({ budgetMs, ...board.pace });
  log.info('stopping', { signal: signals.received(), eviction: eviction.noticed.aborted, ...expected });
  let abandoned = 0;
  const steps = drainSteps(parts, {
    keepMs: (ofMs) => keptForFarewellMs(ofMs, board.pace),
    onAbandoned: (records) => (abandoned = records),
  });
  const onStep = ({ name, result, tookMs, error }: StepReport) =>
    log[result === 'done' ? 'info' : 'warn']('drain step', { step: name, result, ...rounded({ tookMs }), error });
  const drain = new Drain(steps, { budgetMs, clock: systemClock, timers: { after }, onStep });
  signals.onHurry(() => {
    log.warn('another signal: hurrying', { leftMs: HURRY_MS });
    drain.hurry(HURRY_MS);
  });
  const shorten = () => drain.hurry(askedBudgetMs(reasons));
  for (const reason of [signals.stopping, eviction.noticed]) reason.addEventListener('abort', shorten, { once: true });
  eviction.onSooner(shorten);
  const startedMs = systemClock.monotonicMs();
  metrics.onScrape(() => metrics.drainDuration.set({}, (systemClock.monotonicMs() - startedMs) / 1_000));
  const { tookMs, complete } = await drain.run();
  metrics.drainAbandoned.set({}, abandoned);
  log.info('drained', { ...rounded({ tookMs }), complete, abandoned });
  return abandoned;
}

/** As long as a notice leaves; a signal has its timeout. */
function askedBudgetMs({ signals, eviction, timeoutMs }: StopReasons): number {
  const left = eviction.left();
  const isTimed = signals.stopping.aborted || left.leftMs === undefined;
  return drainBudgetMs({ ...left, timeoutMs: isTimed ? timeoutMs : undefined });
}

type DrainPlan = {
  /** Of a budget, what is kept for the commit and the farewells. */
  keepMs(budgetMs: number): number;
  onAbandoned(records: number): void;
};

function drainSteps(parts: WorkerParts, { keepMs, onAbandoned }: DrainPlan): DrainStep[] {
  const { source, pipeline, work, deadLetters, retries, sink, memory, client, watch, lag, traces } = parts;
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
    traces && { name: 'send the last traces', limitMs: 2_000, run: (signal) => traces.close(signal) },
  ];
  return steps.filter((step) => step !== undefined);
}

function rounded(times: Readonly<Record<string, number | undefined>>): Readonly<Record<string, number | undefined>> {
  const entries = Object.entries(times);
  return Object.fromEntries(entries.map(([name, ms]) => [name, ms === undefined ? undefined : Math.round(ms)]));
}

function after(milliseconds: number, callback: () => void): () => void {
  const timer = setTimeout(callback, milliseconds);
  return () => clearTimeout(timer);
}
