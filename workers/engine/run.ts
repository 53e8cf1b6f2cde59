/**
 * Runs the engine until a signal, or the death of its model: settings, logs, the ready line, the exit code.
 *
 * Standard output carries exactly one line, the JSON that says where the engine listens; logs go to standard error.
 */
import type { Env } from '../../src/config/env-reader.ts';
import { type EngineConfig, readEngineConfig } from '../../src/config/programs.ts';
import { type Engine, type EngineOptions, type ModelChoice, startEngine } from '../../src/engine/engine.ts';
import type { SyntheticFault } from '../../src/engine/synthetic-compute.ts';
import { asServingError, isServingError, type ServingError } from '../../src/errors.ts';
import type { Log } from '../../src/telemetry/log.ts';
import { createLogger, type LevelledLog } from '../../src/telemetry/logger.ts';
import { switchLevelOnSignal } from '../log-level-signal.ts';
import { listenForStop } from '../signals.ts';

const DRAIN_MS = 5_000;

/** As commander hands them over. */
export type EngineFlags = {
  readonly host: string;
  readonly grpcPort: number;
  readonly httpPort: number;
  readonly metricsPort: number;
  readonly allowClientShm: boolean;
  readonly modelDir?: string;
  readonly cacheDir?: string;
  readonly threads: number;
  readonly maxQueueSize: number;
  readonly queueDelayUs?: number;
  readonly queueTimeoutUs: number;
  readonly synthetic?: true;
  readonly dims: number;
  readonly batchMs: number;
  readonly perTextUs: number;
  readonly stallEvery: number;
  readonly stallMs: number;
  readonly errorRate: number;
  readonly lateMs: number;
  readonly fault: readonly SyntheticFault[];
  readonly journal?: string;
};

/** Resolves with the exit code once the engine has stopped. */
export async function runEngine(flags: EngineFlags, env: Env, version: string): Promise<number> {
  let log: LevelledLog | undefined;
  try {
    const config = readEngineConfig(env);
    log = createLogger({ level: config.logLevel, service: 'engine', fileDescriptor: 2 });
    switchLevelOnSignal(log);
    for (const warning of config.warnings) log.warn('settings', { warning });
    return await serve(flags, engineOptions(flags, config, version, log), log);
  } catch (error) {
    const known = asServingError(error);
    report(known, log);
    return isServingError(known, 'CONFIG_INVALID') ? 2 : 1;
  }
}

function engineOptions(flags: EngineFlags, config: EngineConfig, version: string, log: Log): EngineOptions {
  const { modelDir, queueDelayUs, journal } = flags;
  const model: ModelChoice =
    flags.synthetic === true
      ? { kind: 'synthetic', synthetic: { ...flags, faults: flags.fault }, ...(journal !== undefined && { journal }) }
      : {
          kind: 'onnx',
          threads: flags.threads,
          source: {
            ...(modelDir !== undefined && { modelDir }),
            cacheDir: flags.cacheDir ?? config.cacheDir,
            onProgress: (step) => log.info('engine progress', { step }),
          },
        };
  return {
    server: {
      host: flags.host,
      grpcPort: flags.grpcPort,
      httpPort: flags.httpPort,
      metricsPort: flags.metricsPort,
      shmBasePath: config.shmBasePath,
      allowClientSharedMemory: flags.allowClientShm,
      version,
    },
    queue: {
      maxQueueSize: flags.maxQueueSize,
      defaultTimeoutUs: flags.queueTimeoutUs,
      ...(queueDelayUs !== undefined && { queueDelayUs }),
    },
    model,
    log,
  };
}

async function serve(flags: EngineFlags, options: EngineOptions, log: Log): Promise<number> {
  const signals = listenForStop();
  const hurry = new AbortController();
  signals.onHurry(() => hurry.abort());
  let engine: Engine | undefined;
  try {
    let die = (_death: ServingError): void => {};
    const died = new Promise<ServingError>((resolve) => {
      die = resolve;
    });
    engine = await startEngine({ ...options, onDead: die }, signals.stopping);
    const { ports, dims, fingerprint } = engine;
    const ready = { event: 'engine ready', host: flags.host, ...ports, pid: process.pid, dims, fingerprint };
    process.stdout.write(`${JSON.stringify({ ...ready, synthetic: flags.synthetic === true })}\n`);
    const death = await Promise.race([died, aborted(signals.stopping)]);
    if (death !== undefined) report(death, log);
    else log.info('engine stops', { signal: signals.received() });
    return death === undefined ? 0 : 1;
  } catch (error) {
    if (signals.stopping.aborted) return 0;
    throw error;
  } finally {
    await engine?.close(DRAIN_MS, hurry.signal);
  }
}

function aborted(signal: AbortSignal): Promise<undefined> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve(undefined);
    else signal.addEventListener('abort', () => resolve(undefined), { once: true });
  });
}

function report(error: ServingError, log: Log | undefined): void {
  if (log === undefined) process.stderr.write(`error: ${error.message}\n`);
  else {
    log.error('the engine cannot go on', { code: error.code, reason: error.message });
    log.debug('engine failed', { error });
  }
}
