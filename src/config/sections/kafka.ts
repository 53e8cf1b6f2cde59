/** The log that chunks come from: brokers, who we are to them, how we read. */
import { hostList } from '../address-types.ts';
import type { EnvReader } from '../env-reader.ts';
import { path, type TlsPaths } from '../file-types.ts';
import { boolean, choice, integer, type Pattern, secret, text } from '../leaf-types.ts';
import type { Secret } from '../secret.ts';
import { always, unset } from '../setting.ts';

export const topicName: Pattern = {
  test: /^(?!\.{1,2}$)[A-Za-z0-9._-]{1,249}$/,
  says: 'a topic name: 1–249 letters, digits, dots, hyphens or underscores',
};
const offsetResetPolicies = ['earliest', 'stop'] as const;
export type OffsetResetPolicy = (typeof offsetResetPolicies)[number];

const saslMechanisms = ['PLAIN', 'SCRAM-SHA-256', 'SCRAM-SHA-512'] as const;

export const kafkaSettings = {
  bootstrapServers: hostList('KAFKA_BOOTSTRAP_SERVERS', 'brokers', unset, {
    doc: 'Brokers to begin with. The worker and `produce` need it; `make demo` starts a local broker and sets it by itself.',
  }),
  consumerGroup: text(
    'KAFKA_CONSUMER_GROUP',
    always('rag-batch-embedder-group'),
    { doc: 'Consumer group of the workers. Two models need two groups.' },
    { test: /^[\x21-\x7e]{1,249}$/, says: '1–249 visible ASCII characters without spaces' },
  ),
  topic: text('KAFKA_TOPIC', always('rag.ingestion.chunks'), { doc: 'Topic of chunk messages.' }, topicName),
  fromBeginning: boolean('KAFKA_FROM_BEGINNING', true, {
    doc: 'Where a group without committed offsets starts: true at the oldest message, false at the newest.',
  }),
  offsetReset: choice('KAFKA_OFFSET_RESET', offsetResetPolicies, always('earliest'), {
    doc: 'When offsets were deleted before they were read: go on at the oldest one that is left, or stop the worker.',
  }),
  saslUsername: text('KAFKA_SASL_USERNAME', unset, { doc: 'User name for SASL.' }),
  saslPassword: secret('KAFKA_SASL_PASSWORD', { doc: 'Password for SASL.' }),
  saslMechanism: choice('KAFKA_SASL_MECHANISM', saslMechanisms, always('PLAIN'), {
    doc: 'How the password is shown to the broker; used when user name and password are set.',
  }),
  tlsEnabled: boolean('KAFKA_TLS_ENABLED', false, { doc: 'Speak TLS to the brokers.' }),
  caPath: path('KAFKA_CA_CERT_PATH', unset, {
    doc: 'PEM file of the authorities that signed the certificates of the brokers.',
    defaultNote: 'the authorities that Node brings',
  }),
  certPath: path('KAFKA_CLIENT_CERT_PATH', unset, { doc: 'PEM client certificate, for mutual TLS.' }),
  keyPath: path('KAFKA_CLIENT_KEY_PATH', unset, { doc: 'PEM private key of the client certificate.' }),
  sessionTimeoutMs: integer(
    'KAFKA_SESSION_TIMEOUT_MS',
    always(45_000),
    { min: 6_000, max: 1_800_000 },
    {
      doc: 'A worker that is silent for so long has its partitions given to others. The broker has bounds of its own.',
    },
  ),
  rebalanceTimeoutMs: integer(
    'KAFKA_REBALANCE_TIMEOUT_MS',
    always(60_000),
    { min: 6_000, max: 1_800_000 },
    {
      doc: 'How long a rebalance waits for a member to come back.',
    },
  ),
  rebalanceHoldMs: integer(
    'KAFKA_REBALANCE_HOLD_MS',
    always(2_000),
    { min: 0, max: 60_000 },
    {
      doc: 'How long a rebalance waits for work in flight to finish and be committed, so that nobody does it again; 0 for not at all.',
    },
  ),
  fetchMaxWaitMs: integer(
    'KAFKA_FETCH_MAX_WAIT_MS',
    always(100),
    { min: 1, max: 5_000 },
    {
      doc: 'How long the broker may hold a fetch for want of data. Also bounds how fast a paused worker goes on.',
    },
  ),
  fetchMinBytes: integer(
    'KAFKA_FETCH_MIN_BYTES',
    always(1),
    { min: 1, max: 104_857_600 },
    {
      doc: 'Bytes the broker collects before it answers; larger spares CPU under a steady load.',
    },
  ),
} as const;

export type SaslConfig = {
  readonly mechanism: (typeof saslMechanisms)[number];
  readonly username: string;
  readonly password: Secret;
};

/** How to reach the brokers: all that produce and tools need. */
export type KafkaConnectionConfig = {
  readonly bootstrapServers: readonly string[];
  readonly sasl: SaslConfig | undefined;
  /** Undefined: plain text. */
  readonly tls: TlsPaths | undefined;
};

/** What a store on the same brokers must know of what is read. */
export type KafkaSinkSource = KafkaConnectionConfig & { readonly consumerGroup: string; readonly topic: string };

export type KafkaConfig = KafkaConnectionConfig & {
  readonly consumerGroup: string;
  readonly topic: string;
  readonly fromBeginning: boolean;
  readonly offsetReset: OffsetResetPolicy;
  readonly sessionTimeoutMs: number;
  readonly rebalanceTimeoutMs: number;
  readonly rebalanceHoldMs: number;
  readonly fetchMaxWaitMs: number;
  readonly fetchMinBytes: number;
};

/** Without brokers it is a problem, unless `brokersElsewhere`: a command-line option gives them, or none are called. */
export function readKafka(read: EnvReader, options: { readonly brokersElsewhere?: boolean } = {}): KafkaConfig {
  const all = kafkaSettings;
  const value = read.section(all);
  const needsBrokers = options.brokersElsewhere !== true;
  read.rule(
    !needsBrokers || value.bootstrapServers !== undefined,
    [all.bootstrapServers],
    'is unset; set host:port of a broker (`make demo` starts a local broker and sets it)',
  );
  read.pair(all.saslUsername, all.saslPassword, 'SASL needs both');
  read.pair(all.certPath, all.keyPath, 'a client certificate works only with its key');
  const { caPath, certPath, keyPath, saslUsername, saslPassword } = value;
  for (const setting of [all.caPath, all.certPath, all.keyPath]) {
    const used = value.tlsEnabled || !read.isSet(setting);
    read.rule(
      used,
      [setting, all.tlsEnabled],
      `is set while ${all.tlsEnabled.name} is false; switch TLS on or unset it`,
    );
  }
  read.rule(
    value.rebalanceHoldMs <= value.rebalanceTimeoutMs / 2,
    [all.rebalanceHoldMs, all.rebalanceTimeoutMs],
    `must be at most half of ${all.rebalanceTimeoutMs.name}, after which a rebalance goes on without the member`,
  );
  if (value.tlsEnabled) read.tlsFiles({ caPath, certPath, keyPath }, all);
  const sasl =
    saslUsername === undefined || saslPassword === undefined
      ? undefined
      : { mechanism: value.saslMechanism, username: saslUsername, password: saslPassword };
  if (sasl?.mechanism === 'PLAIN' && !value.tlsEnabled) {
    read.warn('KAFKA_SASL_PASSWORD travels unencrypted: SASL PLAIN without KAFKA_TLS_ENABLED');
  }
  return {
    bootstrapServers: value.bootstrapServers ?? [],
    sasl,
    tls: value.tlsEnabled ? { caPath, certPath, keyPath } : undefined,
    consumerGroup: value.consumerGroup,
    topic: value.topic,
    fromBeginning: value.fromBeginning,
    offsetReset: value.offsetReset,
    sessionTimeoutMs: value.sessionTimeoutMs,
    rebalanceTimeoutMs: value.rebalanceTimeoutMs,
    rebalanceHoldMs: value.rebalanceHoldMs,
    fetchMaxWaitMs: value.fetchMaxWaitMs,
    fetchMinBytes: value.fetchMinBytes,
  };
}
