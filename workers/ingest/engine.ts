/**
 * Which model server an ingest talks to: the one of its settings, or a small one inside this process.
 *
 * One is started by itself only where no address was set and nothing answers at the default one: whoever has named a server
 * that is away wants to wait for it, not to mix the vectors of two models.
 */
import type { Env } from '../../src/config/env-reader.ts';
import type { IngestConfig } from '../../src/config/programs.ts';
import { inferenceSettings } from '../../src/config/sections/inference.ts';
import { type Engine, startEngine } from '../../src/engine/engine.ts';
import { isServingError, type ServingError } from '../../src/errors.ts';
import { createGrpcInferenceClient } from '../../src/inference/grpc-client.ts';
import type { Log } from '../../src/telemetry/log.ts';
import type { IngestFlags } from '../ingest.ts';

const PROBE_TIMEOUT_MS = 2_000;
const HOST = '127.0.0.1';
/** A CPU takes seconds for a batch that a GPU takes milliseconds for; short batches keep every call far from its deadline. */
const CPU_SETTINGS = { RAG_SERVING_MAX_BATCH_SIZE: '32', RAG_SERVING_BATCHES_IN_FLIGHT: '2' } as const;

export async function wantsOwnEngine(flags: IngestFlags, env: Env, config: IngestConfig): Promise<boolean> {
  if (flags.engine !== 'auto') return flags.engine === 'embedded';
  const addresses = [inferenceSettings.batchIngestGrpcUrl.name, inferenceSettings.tritonGrpcUrl.name];
  if (addresses.some((name) => (env[name] ?? '') !== '')) return false;
  if (flags.modelDir !== undefined) return true;
  return !(await somethingAnswers(config));
}

async function somethingAnswers({ inference }: IngestConfig): Promise<boolean> {
  const client = createGrpcInferenceClient({
    target: inference.endpoints.join(','),
    targetSetting: inferenceSettings.batchIngestGrpcUrl.name,
    receiveLimitBytes: 4 * 1024 * 1024,
  });
  try {
    await client.modelReady(inference.modelName, { timeoutMs: PROBE_TIMEOUT_MS });
    return true;
  } catch (error) {
    return !isServingError(error, 'INFERENCE_UNAVAILABLE', 'INFERENCE_DEADLINE');
  } finally {
    client.close();
  }
}

export type OwnEngineOptions = {
  readonly flags: IngestFlags;
  readonly config: IngestConfig;
  readonly version: string;
  readonly onProgress: (message: string) => void;
  readonly onDead: (error: ServingError) => void;
  readonly log: Log;
};

export function startOwnEngine(options: OwnEngineOptions, signal: AbortSignal): Promise<Engine> {
  const { flags, config, version, onProgress, onDead, log } = options;
  const source = {
    cacheDir: config.cacheDir,
    onProgress,
    ...(flags.modelDir === undefined ? {} : { modelDir: flags.modelDir }),
  };
  return startEngine(
    {
      server: {
        host: HOST,
        grpcPort: 0,
        httpPort: 0,
        metricsPort: 0,
        shmBasePath: config.shm.basePath,
        // Both ends are this process: a region made and opened in one process is not safe.
        allowClientSharedMemory: false,
        version,
      },
      queue: { maxQueueSize: 1_024, defaultTimeoutUs: 0, queueDelayUs: 0 },
      model: { kind: 'onnx', source, threads: flags.threads },
      onDead,
      log,
    },
    signal,
  );
}

/** The settings of a run with it. What concerns TLS does not: nothing leaves the machine. */
export function envOfOwnEngine(env: Env, engine: Engine): Env {
  const { tlsEnabled, caPath, certPath, keyPath, serverNameOverride } = inferenceSettings;
  const tls = [tlsEnabled, caPath, certPath, keyPath, serverNameOverride].map(({ name }) => [name, ''] as const);
  return {
    ...CPU_SETTINGS,
    ...Object.fromEntries(Object.entries(env).filter(([, value]) => value !== '')),
    ...Object.fromEntries(tls),
    [inferenceSettings.batchIngestGrpcUrl.name]: `${HOST}:${engine.ports.grpcPort}`,
    RAG_SERVING_SHM_MODE: 'off',
  };
}
