/**
 * Watches that the worker gets on, and heals what stands still for no reason: the connection to the model server is
 * replaced, the consumer is built anew, and when neither helps the worker ends with one error. What to do is decided in
 * src/lifecycle/progress-watch.ts and src/inference/channel-watch.ts; here are their timers, questions and deeds.
 */
import { systemClock } from '../../src/clock.ts';
import type { WorkerConfig } from '../../src/config/programs.ts';
import { asServingError, ServingError } from '../../src/errors.ts';
import type { Source } from '../../src/kafka/source.ts';
import {
  type BrokerSays,
  type Finding,
  ProgressWatch,
  type Pulse,
  type WatchLimits,
} from '../../src/lifecycle/progress-watch.ts';
import type { PipelineObserver } from '../../src/pipeline/observer.ts';
import type { Log } from '../../src/telemetry/log.ts';
import type { Metrics } from '../../src/telemetry/metrics.ts';
import { every } from './every.ts';
import type { KafkaParts } from './kafka.ts';

const LOOK_EVERY_MS = 5_000;
const SILENT_MS = 30_000;
const CONFIRM_MS = 10_000;
const OUTAGE_MS = 15_000;
const IDLE_MS = 20_000;
const STALL_MS = 45_000;
/** Beyond the deadline of one attempt. */
const STALL_SLACK_MS = 15_000;
const SILENT_REBUILDS = 2;
/** kafkajs sends a heartbeat ten times a session; three that are missed are no accident. */
const HEARTBEATS_A_SESSION = 10;
const HEARTBEATS_MISSED = 3;

const SAYS = {
  'consumer-silent': 'the consumer gets no answer from brokers that answer others',
  'consumer-idle': 'there are messages to read, and the consumer reads none',
  'pipeline-stalled': 'records are in flight, and nothing happens to them',
} as const satisfies Record<Finding, string>;

/** Counts what happens to records, whatever it is, and when it last did. */
export class Activity {
  #count = 0;
  #atMs = systemClock.monotonicMs();

  get count(): number {
    return this.#count;
  }

  /** Since when nothing has happened. */
  get quietMs(): number {
    return systemClock.monotonicMs() - this.#atMs;
  }

  note(): void {
    this.#count++;
    this.#atMs = systemClock.monotonicMs();
  }

  /** The observer itself, counting what it is told of attempts and outcomes. */
  counting(observer: PipelineObserver): PipelineObserver {
    return {
      ...observer,
      attempted: (...told) => {
        this.note();
        observer.attempted(...told);
      },
      settled: (outcome) => {
        this.note();
        observer.settled(outcome);
      },
    };
  }
}

export type WatchdogOptions = {
  readonly limits: WatchLimits;
  readonly activity: Activity;
  readonly source: Source;
  readonly pipeline: { readonly inFlight: number };
  readonly kafka: Pick<KafkaParts, 'askGroup'>;
  /** Why work may stand still now. */
  readonly excuse: () => string | undefined;
  readonly metrics: Pick<Metrics, 'watchdogActions'>;
  readonly log: Log;
  readonly onStalled: (error: ServingError) => void;
};

export function watchLimits({ kafka, inference }: WorkerConfig): WatchLimits {
  const heartbeatsMissedMs = (kafka.sessionTimeoutMs / HEARTBEATS_A_SESSION) * HEARTBEATS_MISSED;
  return {
    silentMs: Math.max(SILENT_MS, heartbeatsMissedMs),
    confirmMs: CONFIRM_MS,
    outageMs: OUTAGE_MS,
    idleMs: IDLE_MS,
    stallMs: Math.max(STALL_MS, inference.timeoutMs + STALL_SLACK_MS),
    silentRebuilds: SILENT_REBUILDS,
  };
}

export function startWatchdog(options: WatchdogOptions): { stop(): void } {
  const { limits, activity, source, pipeline, excuse, metrics, log, onStalled } = options;
  const now = () => systemClock.monotonicMs();
  const watch = new ProgressWatch(limits, now());
  const pulse = (broker?: BrokerSays): Pulse => {
    const { joined, silentMs, inFlightChunks } = source.status();
    const inFlight = Math.max(pipeline.inFlight, inFlightChunks);
    return { activity: activity.count, inFlight, joined, silentMs, excuse: excuse(), broker };
  };
  const look = async () => {
    let verdict = watch.look(pulse(), now());
    if (verdict.kind === 'ask-broker') {
      const broker = await askBroker(options);
      verdict = watch.look(pulse(broker), now());
    }
    if (verdict.kind === 'well' || verdict.kind === 'ask-broker' || stopped) return;
    const { finding, forMs } = verdict;
    const reason = `${SAYS[finding]}, for ${Math.floor(forMs / 1_000)} s`;
    if (verdict.kind === 'rebuild-consumer') {
      metrics.watchdogActions.add({ finding, action: 'rebuild' });
      log.warn('watchdog: the consumer is built anew', { finding, forMs: Math.round(forMs), reason });
      source.rebuild(reason);
    } else {
      metrics.watchdogActions.add({ finding, action: 'stop' });
      onStalled(new ServingError('WORKER_STALLED', `${reason}; the process ends so that another takes over`));
    }
  };
  let stopped = false;
  const looking = every(LOOK_EVERY_MS, look);
  return {
    stop: () => {
      stopped = true;
      looking.stop();
    },
  };
}

async function askBroker({ kafka, source, log }: WatchdogOptions): Promise<BrokerSays> {
  try {
    const { settled, lag } = await kafka.askGroup();
    const ours = new Set(source.status().assigned.map(({ partition }) => partition));
    const behind = lag.filter(({ partition }) => ours.has(partition)).map((one) => one.lag);
    return { answers: true, groupSettled: settled, lag: behind.reduce((sum, one) => sum + one, 0n) };
  } catch (error) {
    log.debug('watchdog: the broker does not answer', { code: asServingError(error).code });
    return { answers: false };
  }
}
