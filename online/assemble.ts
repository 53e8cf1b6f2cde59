/** Puts a client together: settings checked, connections made, models seen and warmed up. */
import { setTimeout as sleep } from 'node:timers/promises';
import { systemClock } from '../src/clock.ts';
import type { BreakerChoice, PoolEvent } from '../src/inference/endpoint-pool.ts';
import { createGrpcInferenceClient } from '../src/inference/grpc-client.ts';
import { logPoolEvent, tlsFilesLog } from '../src/inference/pool-log.ts';
import { parseTarget } from '../src/inference/target.ts';
import { TlsFiles } from '../src/inference/tls-files.ts';
import { embedderContract, rerankerContract } from '../src/kserve/model-contract.ts';
import type { ModelDescription } from '../src/kserve/model-description.ts';
import { loadHostTracing } from '../src/telemetry/host-tracing.ts';
import { type Log, silentLog } from '../src/telemetry/log.ts';
import type { OnlineHost } from './create.ts';
import { embedCall, vectorOf } from './embedder.ts';
import { type OnlineEvents, type PoolName, tellAll } from './events.ts';
import { type ModelContract, ModelPool, type PoolCall } from './model-pool.ts';
import { ModelWatch } from './model-watch.ts';
import { Online, type PoolParts } from './online.ts';
import { rerankCall } from './reranker.ts';
import {
  type OnlineEnv,
  type OnlineOptions,
  type OnlineSettings,
  type PoolSettings,
  readSettings,
} from './settings.ts';
import { StatsKeeper } from './stats.ts';

/** Silence, a full queue and a missing model all mean: this endpoint cannot serve a query now. */
const BREAKER: BreakerChoice = {
  policy: { failuresToOpen: 5, spanMs: 50, rolling: { of: 100, share: 0.5 }, open: { baseMs: 250, maxMs: 2_000 } },
  failureCodes: [
    'INFERENCE_UNAVAILABLE',
    'INFERENCE_DEADLINE',
    'INFERENCE_QUEUE_FULL',
    'INFERENCE_QUEUE_TIMEOUT',
    'MODEL_NOT_READY',
  ],
};

/** The largest batch of the widest model there is, and room. */
const RECEIVE_LIMIT_BYTES = 32 * 1024 * 1024;
const WARM_UP_TEXT = 'warm-up';

/** `createOnline`, and all that it loads. */
export async function assemble(settings: OnlineOptions | OnlineEnv, host: OnlineHost): Promise<Online> {
  const checked = readSettings(settings);
  host.signal?.throwIfAborted();
  const stats = new StatsKeeper();
  const listeners: OnlineEvents[] = [stats];
  if (host.registry !== undefined) {
    // Loading prom-client takes as long as all the rest.
    const { createOnlineMetrics } = await import('../src/telemetry/online-metrics.ts');
    listeners.push(createOnlineMetrics(host.registry));
  }
  const tracing = await loadHostTracing();
  const maker = new PartsMaker(checked, tellAll(listeners), host.log ?? silentLog);
  const online = new Online({
    coalesce: checked.embed.coalesce,
    embed: maker.make(
      'embed',
      checked.embed,
      embedderContract,
      embedCall([WARM_UP_TEXT], (_, row) => void vectorOf(row)),
    ),
    rerank:
      checked.rerank &&
      maker.make(
        'rerank',
        checked.rerank,
        rerankerContract,
        rerankCall(WARM_UP_TEXT, [WARM_UP_TEXT], new Float32Array(1)),
      ),
    searchTimeoutMs: checked.searchTimeoutMs,
    stats,
    events: maker.events,
    clock: systemClock,
    tracing,
  });
  try {
    await warmOrLate(online, checked.warmUpTimeoutMs, host.signal);
    return online;
  } catch (error) {
    await online.close();
    throw error;
  }
}

async function warmOrLate(online: Online, timeoutMs: number, signal: AbortSignal | undefined): Promise<void> {
  const late = new AbortController();
  try {
    await Promise.race([online.ready(signal), sleep(timeoutMs, undefined, { signal: late.signal })]);
  } finally {
    late.abort();
  }
}

class PartsMaker {
  readonly events: OnlineEvents;
  readonly #settings: OnlineSettings;
  readonly #log: Log;
  readonly #tls: TlsFiles | undefined;

  constructor(settings: OnlineSettings, events: OnlineEvents, log: Log) {
    this.#settings = settings;
    this.events = events;
    this.#log = log;
    this.#tls = settings.tls && tlsFiles(settings.tls, log);
  }

  make<C extends ModelContract>(
    name: PoolName,
    pool: PoolSettings,
    contractOf: (model: ModelDescription) => C,
    warmUp: PoolCall<C>,
  ): PoolParts<C> {
    const { metadata } = this.#settings;
    const tls = this.#tls;
    const servers = new Set<string>();
    const { endpoints, model, connections, transport, timeoutMs, maxInFlight, leastMs, maxTextBytes } = pool;
    const target = endpoints.join(',');
    const targetSetting = `${name}.endpoints`;
    const client = createGrpcInferenceClient({
      target,
      targetSetting,
      receiveLimitBytes: RECEIVE_LIMIT_BYTES,
      metadata,
      ...(tls === undefined ? {} : { tls }),
      inferOver: transport,
      connectionsPerEndpoint: connections,
      breaker: BREAKER,
      onCallEnd: (method, status) => this.events.asked(name, method, status),
      onBreakerChange: (endpoint, state) => {
        this.events.breaker(name, endpoint, state);
        this.#log[state === 'open' ? 'warn' : 'info']('breaker', { pool: name, endpoint, state });
      },
      onEvent: (event) => this.#onPoolEvent(name, servers, event),
    });
    for (const endpoint of parseTarget(target, targetSetting)) {
      if (endpoint.balanced !== undefined) continue;
      servers.add(endpoint.name);
      this.events.breaker(name, endpoint.name, 'closed');
    }
    const modelPool = new ModelPool<C>({ name, client, maxInFlight, leastMs, transport }, this.events);
    const watch = new ModelWatch<C>(modelPool, {
      name,
      client,
      modelName: model,
      contractOf,
      warmUp,
      warmUps: () => connections * servers.size,
      log: this.#log,
    });
    return { pool: modelPool, watch, modelName: model, timeoutMs, maxTextBytes };
  }
  #onPoolEvent(pool: PoolName, servers: Set<string>, event: PoolEvent): void {
    if (event.kind === 'joined') {
      servers.add(event.server);
      this.events.breaker(pool, event.server, 'closed');
    } else if (event.kind === 'left') {
      servers.delete(event.server);
      this.events.left(pool, event.server);
    }
    logPoolEvent(this.#log, event, { pool });
  }
}

function tlsFiles({ serverNameOverride, ...paths }: NonNullable<OnlineSettings['tls']>, log: Log): TlsFiles {
  return new TlsFiles({
    paths,
    serverName: serverNameOverride,
    settings: { caPath: 'tls.caPath', certPath: 'tls.certPath', keyPath: 'tls.keyPath' },
    events: tlsFilesLog(log),
  });
}
