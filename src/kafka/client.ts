/**
 * The kafkajs client that consumer, producer and admin are made of: brokers, SASL, TLS, log bridge, codecs, timer guard.
 *
 * Connects nothing by itself. TLS files are read and checked here, at start: as connection errors they would only show as
 * endless reconnects. A rotated certificate takes effect with a restart.
 */
import kafkajs, { type Kafka, type KafkaConfig, type SASLOptions } from 'kafkajs';
import { loadTlsMaterial, readTextFile, type TlsPaths, tlsProblems } from '../config/file-types.ts';
import { type KafkaConnectionConfig, kafkaSettings, type SaslConfig } from '../config/sections/kafka.ts';
import { ServingError } from '../errors.ts';
import type { Log } from '../telemetry/log.ts';
import { guardAbortedRecords } from './aborted-guard.ts';
import { registerCodecs } from './codecs.ts';
import { ConnectionTroubles } from './connection-troubles.ts';
import { logBridge } from './log-bridge.ts';
import { guardKafkaTimers } from './timer-guard.ts';

export type KafkaClientOptions = KafkaConnectionConfig & {
  /** Shown in broker logs and quotas. */
  readonly clientId: string;
  readonly log: Log;
  readonly connectionTimeoutMs?: number;
  readonly requestTimeoutMs?: number;
};

/** Opaque outside this folder. */
export type KafkaClient = {
  /** Gives up after seconds: for whoever decides by himself what an outage means. */
  readonly kafka: Kafka;
  /**
   * Goes on trying for a minute. A consumer that gives up comes back as a new member, and the group then waits for the old
   * one until its session ends; one that holds out comes back as itself, at once.
   */
  readonly patientKafka: Kafka;
  readonly troubles: ConnectionTroubles;
  readonly log: Log;
  readonly clientId: string;
};

const CONNECTION_TIMEOUT_MS = 5_000;
const REQUEST_TIMEOUT_MS = 15_000;
/** About three seconds, and about a minute. */
const RETRY = { initialRetryTime: 200, maxRetryTime: 2_000, retries: 5 } as const;
const PATIENT_RETRY = { initialRetryTime: 200, maxRetryTime: 2_000, retries: 32 } as const;

export function createKafkaClient(options: KafkaClientOptions): KafkaClient {
  registerCodecs();
  if (!guardKafkaTimers()) options.log.warn('kafka timer guard not applied: unknown layout of kafkajs');
  if (!guardAbortedRecords()) options.log.warn('guard against aborted records not applied: unknown layout of kafkajs');
  const { bootstrapServers, sasl, tls, clientId, log } = options;
  if (bootstrapServers.length === 0) {
    throw new ServingError('CONFIG_INVALID', `${kafkaSettings.bootstrapServers.name}: no broker given; set host:port`);
  }
  const troubles = new ConnectionTroubles();
  const config: KafkaConfig = {
    clientId,
    brokers: [...bootstrapServers],
    connectionTimeout: options.connectionTimeoutMs ?? CONNECTION_TIMEOUT_MS,
    authenticationTimeout: options.requestTimeoutMs ?? REQUEST_TIMEOUT_MS,
    requestTimeout: options.requestTimeoutMs ?? REQUEST_TIMEOUT_MS,
    logLevel: kafkajs.logLevel.INFO,
    logCreator: logBridge(log, troubles),
    ...(sasl === undefined ? {} : { sasl: saslOptions(sasl) }),
    ...(tls === undefined ? {} : { ssl: tlsOptions(tls) }),
  };
  const kafka = new kafkajs.Kafka({ ...config, retry: { ...RETRY } });
  const patientKafka = new kafkajs.Kafka({ ...config, retry: { ...PATIENT_RETRY } });
  return { kafka, patientKafka, troubles, log, clientId };
}

function saslOptions({ mechanism, username, password }: SaslConfig): SASLOptions {
  const credentials = { username, password: password.reveal() };
  switch (mechanism) {
    case 'PLAIN':
      return { mechanism: 'plain', ...credentials };
    case 'SCRAM-SHA-256':
      return { mechanism: 'scram-sha-256', ...credentials };
    case 'SCRAM-SHA-512':
      return { mechanism: 'scram-sha-512', ...credentials };
  }
}

function tlsOptions(paths: TlsPaths) {
  const problems = tlsProblems(paths, Date.now(), readTextFile);
  if (problems.length > 0) {
    throw new ServingError(
      'CONFIG_INVALID',
      problems.map(({ part, says }) => `${kafkaSettings[part].name} ${says}`).join('; '),
    );
  }
  const { ca, cert, key } = loadTlsMaterial(paths);
  return {
    ...(ca === undefined ? {} : { ca }),
    ...(cert === undefined ? {} : { cert }),
    ...(key === undefined ? {} : { key }),
  };
}
