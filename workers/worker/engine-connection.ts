/** The model server as the worker sees it: waited for at start, its contract read and checked, its readiness watched. */
import { setTimeout as sleep } from 'node:timers/promises';
import { loadTlsMaterial } from '../../src/config/file-types.ts';
import { type InferenceConfig, inferenceSettings } from '../../src/config/sections/inference.ts';
import { asServingError, ServingError } from '../../src/errors.ts';
import type { InferenceClient } from '../../src/inference/client.ts';
import { receiveLimitFor } from '../../src/inference/connection.ts';
import { createGrpcInferenceClient, type GrpcClientOptions } from '../../src/inference/grpc-client.ts';
import type { VectorContract } from '../../src/kserve/contract.ts';
import { embedderContract } from '../../src/kserve/model-contract.ts';
import type { Log } from '../../src/telemetry/log.ts';

export type EngineConnection = { readonly client: InferenceClient; readonly contract: VectorContract };

export type Health = { pass(): void; fail(reason: string): void };

const PROBE_TIMEOUT_MS = 4_000;
const WAIT_MS = 500;
const WATCH_EVERY_MS = 5_000;
const LOG_EVERY = 20;

/** Waits for the server and its model for as long as it takes; rejects with the signal's reason or MODEL_CONTRACT_MISMATCH. */
export async function connectEngine(
  config: InferenceConfig,
  health: Health,
  log: Log,
  signal: AbortSignal,
): Promise<EngineConnection> {
  // The size of answers, and so the receive limit, is known only when the model has been described.
  const scout = createGrpcInferenceClient(clientOptions(config, 4 * 1024 * 1024));
  try {
    const contract = await describeModel(scout, config, health, log, signal);
    const client = createGrpcInferenceClient(clientOptions(config, receiveLimitFor(contract)));
    log.info('model server is ready', { target: client.target, ...contract });
    return { client, contract };
  } finally {
    scout.close();
  }
}

async function describeModel(
  client: InferenceClient,
  { modelName, endpoints }: InferenceConfig,
  health: Health,
  log: Log,
  signal: AbortSignal,
): Promise<VectorContract> {
  for (let attempt = 1; ; attempt++) {
    signal.throwIfAborted();
    try {
      const options = { timeoutMs: PROBE_TIMEOUT_MS, signal };
      if (!(await client.modelReady(modelName, options))) {
        throw new ServingError('MODEL_NOT_READY', `model ${modelName} is not ready`);
      }
      const contract = embedderContract(await client.describeModel(modelName, options));
      health.pass();
      return contract;
    } catch (thrown) {
      signal.throwIfAborted();
      const error = asServingError(thrown);
      if (error.failureClass === 'fatal') throw error;
      health.fail(error.message);
      if (attempt % LOG_EVERY === 1) log.warn('waiting for the model server', { endpoints, modelName, error });
    }
    await sleep(WAIT_MS, undefined, { signal });
  }
}

/** Asks for the model's readiness by a real gRPC call at intervals: a server can be live while its model is unloaded. */
export function watchEngine({ client, contract }: EngineConnection, health: Health): { stop(): void } {
  let running = false;
  const timer = setInterval(async () => {
    if (running) return;
    running = true;
    try {
      if (await client.modelReady(contract.modelName, { timeoutMs: PROBE_TIMEOUT_MS })) health.pass();
      else health.fail(`model ${contract.modelName} is not ready`);
    } catch (error) {
      health.fail(asServingError(error).message);
    } finally {
      running = false;
    }
  }, WATCH_EVERY_MS).unref();
  return { stop: () => clearInterval(timer) };
}

function clientOptions({ endpoints, tls }: InferenceConfig, receiveLimitBytes: number): GrpcClientOptions {
  const base = {
    target: endpoints.join(','),
    targetSetting: inferenceSettings.batchIngestGrpcUrl.name,
    receiveLimitBytes,
  };
  if (tls === undefined) return base;
  return { ...base, tls: { ...loadTlsMaterial(tls), serverName: tls.serverNameOverride } };
}
