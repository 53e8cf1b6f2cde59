/**
 * Files through the worker's pipeline: model server and store are opened and waited for as the worker does, everything that
 * ends is checkpointed, and whatever stops the run leaves a checkpoint to go on from.
 */
import { systemClock } from '../../src/clock.ts';
import type { IngestConfig } from '../../src/config/programs.ts';
import { asServingError, type ServingError } from '../../src/errors.ts';
import type { DeadLetters } from '../../src/kafka/dead-letter.ts';
import { defaultFailurePolicy } from '../../src/pipeline/failure-policy.ts';
import { Holds } from '../../src/pipeline/holds.ts';
import { unobserved } from '../../src/pipeline/observer.ts';
import { Pipeline } from '../../src/pipeline/pipeline.ts';
import { refuseWrongNorm } from '../../src/pipeline/soundness.ts';
import type { Log } from '../../src/telemetry/log.ts';
import type { StopSignals } from '../signals.ts';
import { openEngine } from '../worker/embed-transport.ts';
import type { Health } from '../worker/engine-connection.ts';
import { pipelineOptions } from '../worker/pipeline-options.ts';
import { openStore } from '../worker/store.ts';
import type { FileSource } from './file-source.ts';
import type { OpenFile } from './open-file.ts';

export type IngestJob = {
  readonly config: IngestConfig;
  readonly files: readonly OpenFile[];
  readonly source: FileSource;
  readonly signals: StopSignals;
  /** Aborts, with a ServingError, when something outside of the pipeline makes going on impossible. */
  readonly broken: AbortSignal;
  /** Something is waited for, or works again. */
  readonly onWaiting: (text: string) => void;
  readonly log: Log;
};

const CLOSE_MS = 6_000;
const FATAL_DRAIN_MS = 5_000;

/** Resolves with what made going on impossible, or undefined. */
export async function runFiles(job: IngestJob): Promise<ServingError | undefined> {
  const { config, source, signals, broken, log } = job;
  const fatal = new AbortController();
  const stop = AbortSignal.any([signals.stopping, broken, fatal.signal]);
  const closers: (() => unknown)[] = [];
  try {
    const engineHealth = healthOf('model server', job.onWaiting);
    const unwatched = { onBreaker: () => {}, onCallEnd: () => {}, onLeft: () => {} };
    const { engine, transport, maxBatch, memory } = await openEngine(
      config,
      { health: engineHealth, ...unwatched },
      log,
      stop,
    );
    closers.unshift(() => engine.client.close());
    if (memory !== undefined) closers.unshift(() => memory.close(AbortSignal.timeout(CLOSE_MS)));
    await refuseWrongNorm({ transport, contract: engine.contract, norm: config.pipeline.vectorNorm }, stop);
    const sink = await openStore(config.sink, engine.contract, healthOf('store', job.onWaiting), log, stop);
    closers.unshift(() => sink.close());
    const pipeline = new Pipeline({
      transport,
      contract: engine.contract,
      sink,
      deadLetters: lettersOf(job.files),
      retries: undefined,
      surroundings: {
        policy: defaultFailurePolicy,
        holds: holdsOf(source, job.onWaiting),
        observer: unobserved,
        log,
        clock: systemClock,
      },
      ...pipelineOptions(config, maxBatch),
      onFatal: (error) => fatal.abort(error),
    });
    try {
      await source.run({ onRecords: (records) => pipeline.accept(records) }, stop);
    } catch (error) {
      fatal.abort(asServingError(error));
    }
    await drain(pipeline, job, fatal.signal);
  } catch (error) {
    if (!stop.aborted) return asServingError(error);
  } finally {
    for (const close of closers) await Promise.resolve(close()).catch(() => {});
  }
  const failure = fatal.signal.aborted ? fatal.signal.reason : broken.aborted ? broken.reason : undefined;
  return failure === undefined ? undefined : asServingError(failure);
}

/** What is in flight is waited for: without a limit, until someone asks to stop. */
async function drain(pipeline: Pipeline, job: IngestJob, fatal: AbortSignal): Promise<void> {
  const { signals, broken, config } = job;
  const giveUp = new AbortController();
  const timers: NodeJS.Timeout[] = [];
  const within = (signal: AbortSignal, milliseconds: number) => {
    const begin = () => void timers.push(setTimeout(() => giveUp.abort(), milliseconds));
    if (signal.aborted) begin();
    else signal.addEventListener('abort', begin, { once: true });
  };
  within(signals.stopping, config.pipeline.drainTimeoutMs);
  within(fatal, FATAL_DRAIN_MS);
  within(broken, 0);
  signals.onHurry(() => giveUp.abort());
  await pipeline.drain(giveUp.signal);
  for (const timer of timers) clearTimeout(timer);
}

/** Kept with the file that they are of, until the entry they belong to has ended. */
export function lettersOf(files: readonly OpenFile[]): DeadLetters {
  const byTopic = new Map(files.map((file) => [file.topic, file]));
  return {
    send: async (letters) => {
      for (const letter of letters) byTopic.get(letter.raw.source.topic)?.addLetter(letter);
    },
    close: async () => {},
  };
}

function healthOf(what: string, onWaiting: (text: string) => void): Health {
  let failing = false;
  return {
    pass: () => {
      if (failing) onWaiting(`${what}: there`);
      failing = false;
    },
    fail: (reason) => {
      if (!failing) onWaiting(`waiting for the ${what}: ${reason}`);
      failing = true;
    },
  };
}

function holdsOf(source: FileSource, onWaiting: (text: string) => void): Holds {
  return new Holds({
    pause: (reason) => {
      onWaiting(`waiting: attempts at the ${nameOf(reason)} fail and are repeated`);
      source.pause(reason);
    },
    resume: (reason) => {
      onWaiting(`the ${nameOf(reason)} works again`);
      source.resume(reason);
    },
  });
}

function nameOf(reason: string): string {
  return reason === 'engine' ? 'model server' : reason === 'sink' ? 'store' : reason;
}
