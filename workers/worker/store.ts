/** The vector store of the worker: made from the settings, opened when it answers. */
import { setTimeout as sleep } from 'node:timers/promises';
import { systemClock } from '../../src/clock.ts';
import { loadTlsMaterial } from '../../src/config/file-types.ts';
import { type SingleSinkConfig, type SinkConfig, sinkSettings } from '../../src/config/sections/sink.ts';
import type { LancedbSinkConfig } from '../../src/config/sections/sink-lancedb.ts';
import { asServingError } from '../../src/errors.ts';
import type { VectorContract } from '../../src/kserve/contract.ts';
import type { ObjectStoreAccess } from '../../src/sinks/lancedb/object-store.ts';
import type { SinkObserver } from '../../src/sinks/observer.ts';
import { createSink, type SingleSinkChoice, type SinkChoice } from '../../src/sinks/registry.ts';
import type { Sink } from '../../src/sinks/sink.ts';
import type { Log } from '../../src/telemetry/log.ts';
import type { Health } from './engine-connection.ts';

const WAIT_MS = 1_000;
const LOG_EVERY = 10;

export function sinkChoice(config: SinkConfig): SinkChoice {
  return config.kind === 'fan-out'
    ? { name: config.kind, members: config.members.map(singleChoice) }
    : singleChoice(config);
}

function singleChoice(config: SingleSinkConfig): SingleSinkChoice {
  const { tombstoneRetentionMs } = config;
  switch (config.kind) {
    case 'lancedb':
      return {
        name: 'lancedb',
        options: {
          uri: config.path,
          table: config.table,
          tombstoneRetentionMs,
          allowMixedFingerprints: config.allowMixedFingerprints,
          index: config.index,
          indexMinRows: config.indexMinRows,
          maintenanceIntervalMs: config.maintenanceIntervalMs,
          keepVersionsMs: config.keepVersionsMs,
          objectStore: objectStoreAccess(config.objectStore),
        },
      };
    case 'redis': {
      const { ca } = loadTlsMaterial({ caPath: config.caPath, certPath: undefined, keyPath: undefined });
      return {
        name: 'redis',
        options: {
          url: config.url.reveal(),
          keyPrefix: config.keyPrefix,
          index: config.index,
          tombstoneRetentionMs,
          allowMixedFingerprints: config.allowMixedFingerprints,
          ...(config.vectorDtype === undefined ? {} : { storedDtype: config.vectorDtype }),
          ...(ca === undefined ? {} : { tlsCa: ca }),
        },
      };
    }
    case 'pgvector': {
      const { ca, cert, key } = loadTlsMaterial(config.tls);
      return {
        name: 'pgvector',
        options: {
          url: config.url.reveal(),
          table: config.table,
          ...(config.element === undefined ? {} : { element: config.element }),
          poolSize: config.poolSize,
          statementTimeoutMs: config.statementTimeoutMs,
          tombstoneRetentionMs,
          allowMixedFingerprints: config.allowMixedFingerprints,
          ...(ca === undefined ? {} : { tlsCa: ca }),
          ...(cert === undefined ? {} : { tlsCert: cert }),
          ...(key === undefined ? {} : { tlsKey: key }),
        },
      };
    }
    case 'kafka-topic': {
      const { kafka, topic, format, compression, maxWaitingBytes, allowMixedFingerprints } = config;
      const source = { groupId: kafka.consumerGroup, topic: kafka.topic };
      return {
        name: 'kafka-topic',
        options: { connection: kafka, source, topic, format, compression, maxWaitingBytes, allowMixedFingerprints },
      };
    }
    case 'module':
      return {
        name: 'module',
        options: {
          module: config.module,
          options: config.options === undefined ? {} : JSON.parse(config.options.reveal()),
          tombstoneRetentionMs,
          allowMixedFingerprints: config.allowMixedFingerprints,
        },
      };
    case 'memory':
      return { name: 'memory', options: { tombstoneRetentionMs } };
  }
}

function objectStoreAccess({
  accessKeyId,
  secretAccessKey,
  sessionToken,
  region,
  endpoint,
}: LancedbSinkConfig['objectStore']): ObjectStoreAccess {
  return {
    region,
    ...(accessKeyId === undefined ? {} : { accessKeyId: accessKeyId.reveal() }),
    ...(secretAccessKey === undefined ? {} : { secretAccessKey: secretAccessKey.reveal() }),
    ...(sessionToken === undefined ? {} : { sessionToken: sessionToken.reveal() }),
    ...(endpoint === undefined ? {} : { endpoint }),
  };
}

/** Waits for a store that is away; rejects with the signal's reason, or at once when no waiting helps. */
export async function openStore(
  config: SinkConfig,
  contract: VectorContract,
  health: Health,
  log: Log,
  signal: AbortSignal,
  observer?: SinkObserver,
): Promise<Sink> {
  for (let attempt = 1; ; attempt++) {
    signal.throwIfAborted();
    const sink = await createSink(sinkChoice(config), log, systemClock, observer);
    try {
      await sink.open(contract, signal);
      health.pass();
      log.info('store is open', { sink: sink.name, setting: sinkSettings.kinds.name });
      return sink;
    } catch (thrown) {
      await sink.close();
      signal.throwIfAborted();
      const error = asServingError(thrown);
      if (error.failureClass !== 'outage') throw error;
      health.fail(error.message);
      if (attempt % LOG_EVERY === 1) log.warn('waiting for the store', { sink: sink.name, error });
    }
    await sleep(WAIT_MS, undefined, { signal });
  }
}
