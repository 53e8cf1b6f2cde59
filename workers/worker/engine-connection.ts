/**
 * The model server as the worker sees it: waited for at start, its contract read and checked, its readiness watched, and
 * its connection replaced when it is wedged.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { systemClock } from '../../src/clock.ts';
import { type InferenceConfig, inferenceSettings } from '../../src/config/sections/inference.ts';
import type { ReadinessConfig } from '../../src/config/sections/readiness.ts';
import { asServingError, isServingError, ServingError } from '../../src/errors.ts';
import { ChannelWatch } from '../../src/inference/channel-watch.ts';
import type { InferenceClient } from '../../src/inference/client.ts';
import { receiveLimitFor } from '../../src/inference/connection.ts';
import type { OnCallEnd, PoolEvent } from '../../src/inference/endpoint-pool.ts';
import { createGrpcInferenceClient, type GrpcClientOptions } from '../../src/inference/grpc-client.ts';
import { logPoolEvent } from '../../src/inference/pool-log.ts';
import { RenewableClient } from '../../src/inference/renewable-client.ts';
import type { VectorContract } from '../../src/kserve/contract.ts';
import { embedderContract } from '../../src/kserve/model-contract.ts';
import type { BreakerStateName } from '../../src/resilience/breaker.ts';
import type { Log } from '../../src/telemetry/log.ts';
import { modelServerTls } from '../model-server-tls.ts';
import { every } from './every.ts';

export type EngineConnection = {
  readonly client: RenewableClient;
  readonly contract: VectorContract;
  /** Told of the end of every call of the client. */
  readonly channel: ChannelWatch;
  /** A client with connections of its own to the same server. */
  readonly openFresh: () => InferenceClient;
};

export type WedgeActions = {
  /** The connection was replaced after being silent for so long. */
  onReplaced(silentMs: number): void;
  /** Replacing it did not help, though fresh connections are answered. */
  onStalled(error: ServingError): void;
};

export type Health = { pass(): void; fail(reason: string): void };

/** Told when the breaker of an endpoint changes. */
export type OnBreaker = (endpoint: string, state: BreakerStateName) => void;

export type EngineWatchers = {
  readonly health: Health;
  readonly onBreaker: OnBreaker;
  readonly onCallEnd: OnCallEnd;
  /** Told when a server that a name stood for is gone. */
  readonly onLeft: (endpoint: string) => void;
};

const PROBE_TIMEOUT_MS = 4_000;
const WAIT_MS = 500;
const LOG_EVERY = 20;
const WEDGED = { silentMs: 15_000, replacements: 1 } as const;
/** Longer than a channel that has lost its connection waits before it makes another. */
const RECONNECT_MS = 3_000;

/** Waits for the server and its model for as long as it takes; rejects with the signal's reason or MODEL_CONTRACT_MISMATCH. */
export async function connectEngine(
  config: InferenceConfig,
  { health, onBreaker, onCallEnd, onLeft }: EngineWatchers,
  log: Log,
  signal: AbortSignal,
): Promise<EngineConnection> {
  const base = clientOptions(config, onLeft, log);
  // The size of answers, and so the receive limit, is known only when the model has been described.
  const scout = createGrpcInferenceClient({ ...base, receiveLimitBytes: 4 * 1024 * 1024 });
  try {
    const contract = await describeModel(scout, config, health, log, signal);
    const onBreakerChange: OnBreaker = (endpoint, state) => {
      log[state === 'open' ? 'warn' : 'info']('breaker', { endpoint, state });
      onBreaker(endpoint, state);
    };
    const options = { ...base, receiveLimitBytes: receiveLimitFor(contract), onBreakerChange, onCallEnd };
    const openFresh = () => createGrpcInferenceClient(options);
    const channel = new ChannelWatch(WEDGED, systemClock.monotonicMs());
    const client = new RenewableClient(openFresh(), (end) => {
      if (end === 'answered') channel.answered(systemClock.monotonicMs());
      else channel.unanswered();
    });
    for (const endpoint of client.target.split(',')) onBreaker(endpoint, 'closed');
    log.info('model server is ready', { target: client.target, ...contract });
    return { client, contract, channel, openFresh };
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
export function watchEngine(
  engine: EngineConnection,
  { intervalMs, timeoutMs }: Pick<ReadinessConfig, 'intervalMs' | 'timeoutMs'>,
  health: Health,
  wedge: WedgeActions,
): { stop(): void } {
  const { client, contract } = engine;
  let stopped = false;
  const look = async () => {
    try {
      if (await client.modelReady(contract.modelName, { timeoutMs })) health.pass();
      else health.fail(`model ${contract.modelName} is not ready`);
    } catch (error) {
      health.fail(asServingError(error).message);
    }
    if (!stopped && engine.channel.suspect(systemClock.monotonicMs())) await healChannel(engine, wedge);
  };
  const looking = every(intervalMs, look);
  return {
    stop: () => {
      stopped = true;
      looking.stop();
    },
  };
}

async function healChannel(engine: EngineConnection, { onReplaced, onStalled }: WedgeActions): Promise<void> {
  const { client, contract, channel, openFresh } = engine;
  const now = () => systemClock.monotonicMs();
  const fresh = openFresh();
  const freshAnswers = await answers(fresh, contract.modelName);
  if (freshAnswers) {
    // A server that has just come back: our own channel is about to find it too.
    await sleep(RECONNECT_MS, undefined, { ref: false });
    await answers(client, contract.modelName);
  }
  const silentMs = channel.silentMs(now());
  const verdict = channel.suspect(now()) ? channel.judge(freshAnswers, now()) : 'outage';
  switch (verdict) {
    case 'outage':
      return fresh.close();
    case 'replace':
      client.renew(fresh);
      return onReplaced(silentMs);
    case 'give-up':
      fresh.close();
      return onStalled(
        new ServingError(
          'WORKER_STALLED',
          `the model server ${client.target} answers fresh connections and none of ours, also after that was replaced; the process ends so that another takes over`,
        ),
      );
  }
}

async function answers(client: InferenceClient, modelName: string): Promise<boolean> {
  try {
    await client.modelReady(modelName, { timeoutMs: PROBE_TIMEOUT_MS });
    return true;
  } catch (error) {
    return !isServingError(error, 'INFERENCE_DEADLINE', 'INFERENCE_UNAVAILABLE');
  }
}

function clientOptions(
  { endpoints, tls }: InferenceConfig,
  onLeft: EngineWatchers['onLeft'],
  log: Log,
): Omit<GrpcClientOptions, 'receiveLimitBytes'> {
  const files = modelServerTls(tls, log);
  return {
    target: endpoints.join(','),
    targetSetting: inferenceSettings.batchIngestGrpcUrl.name,
    onEvent: (event: PoolEvent) => {
      logPoolEvent(log, event);
      if (event.kind === 'left') onLeft(event.server);
    },
    ...(files === undefined ? {} : { tls: files }),
  };
}
