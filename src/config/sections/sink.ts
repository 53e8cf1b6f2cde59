/** Where vectors are stored. Each store has its own settings; those of the others are checked and otherwise ignored. */
import { redisUrl } from '../address-types.ts';
import type { EnvReader } from '../env-reader.ts';
import { path } from '../file-types.ts';
import { boolean, choice, choices, integer, secret, text } from '../leaf-types.ts';
import type { Secret } from '../secret.ts';
import { always, unset, type ValuesOf } from '../setting.ts';
import { type KafkaSinkSource, kafkaSettings } from './kafka.ts';
import { type KafkaTopicSinkConfig, kafkaTopicSettings } from './sink-kafka-topic.ts';
import { type LancedbSinkConfig, lancedbSettings, readLancedb } from './sink-lancedb.ts';
import { type PgVectorSinkConfig, pgvectorSettings, readPgVector } from './sink-pgvector.ts';

export const sinkKinds = ['lancedb', 'redis', 'pgvector', 'kafka-topic', 'module', 'memory'] as const;
/** As in src/sinks/redis/search-index.ts. */
/** FLAT compares with every vector, HNSW with some. */
export const redisIndexes = ['hnsw', 'flat', 'off'] as const;
const vectorDtypes = ['FP16', 'FP32'] as const;

export const sinkSettings = {
  kinds: choices('RAG_SERVING_SINK', sinkKinds, ['lancedb'], {
    doc: 'Vector store. lancedb is embedded and needs no server; redis and pgvector (PostgreSQL) are servers of yours; kafka-topic writes rows to a topic, in one transaction with the offsets; module is a sink of yours (RAG_SERVING_SINK_MODULE); memory forgets everything and is for tests and benchmarks. Several, as redis,pgvector, each get every row; the first is the one that is read.',
  }),
  storeText: boolean('RAG_SERVING_STORE_TEXT', true, { doc: 'Store the text of a chunk beside its vector.' }),
  tombstoneRetentionMs: integer(
    'RAG_SERVING_TOMBSTONE_RETENTION_MS',
    always(604_800_000),
    { min: 60_000, max: 31_536_000_000 },
    {
      doc: 'How long the store remembers a deletion, so that an older write that arrives late stays out. Longer than any write can be late: retries, and workers that were frozen.',
    },
  ),
  ...lancedbSettings,
  redisUrl: redisUrl('RAG_SERVING_REDIS_URL', 'redis://localhost:6379', {
    doc: 'Redis of the sink and of durable retries: redis://user:password@host:port/database, rediss:// for TLS. Special characters of the password are percent-encoded.',
  }),
  redisCaPath: path('RAG_SERVING_REDIS_CA_CERT_PATH', unset, {
    doc: 'PEM file of the authorities that signed the certificate of Redis (rediss:// only).',
    defaultNote: 'the authorities that Node brings',
  }),
  redisKeyPrefix: text(
    'RAG_SERVING_REDIS_KEY_PREFIX',
    always('rag:'),
    { doc: 'Beginning of every key; one prefix is one collection.' },
    { test: /^[\x21-\x7e]{1,128}$/, says: '1–128 visible ASCII characters without spaces' },
  ),
  redisVectorDtype: choice('RAG_SERVING_REDIS_VECTOR_DTYPE', vectorDtypes, unset, {
    doc: 'Elements of the vector blob; as the vector index of your Redis expects it.',
    defaultNote: 'as the model gives them',
  }),
  redisIndex: choice('RAG_SERVING_REDIS_INDEX', redisIndexes, always('hnsw'), {
    doc: 'Vector index that is made over the rows where Redis has a search engine (Redis 8, or the module RediSearch): hnsw is fast and approximate, flat exact; off makes none.',
  }),
  ...pgvectorSettings,
  ...kafkaTopicSettings,
  module: text('RAG_SERVING_SINK_MODULE', unset, {
    doc: 'Sink of your own: path of a module, or name of a package that is installed beside this one. It exports createSink. When it is set and RAG_SERVING_SINK is not, it is the store. docs/sinks/writing-a-sink.md.',
  }),
  moduleOptions: secret(
    'RAG_SERVING_SINK_MODULE_OPTIONS',
    { doc: 'What that module is told: a JSON object.' },
    { test: /^\{[\s\S]*\}$/, says: 'a JSON object' },
  ),
  allowMixedFingerprints: boolean('RAG_SERVING_SINK_ALLOW_MIXED_FINGERPRINTS', false, {
    doc: 'Let one collection hold vectors of different models of the same dims. They cannot be compared with each other.',
  }),
} as const;

export type RedisSinkConfig = {
  readonly kind: 'redis';
  readonly url: Secret;
  readonly caPath: string | undefined;
  readonly keyPrefix: string;
  readonly vectorDtype: (typeof vectorDtypes)[number] | undefined;
  readonly index: (typeof redisIndexes)[number];
  readonly storeText: boolean;
  readonly tombstoneRetentionMs: number;
  readonly allowMixedFingerprints: boolean;
};

export type ModuleSinkConfig = {
  readonly kind: 'module';
  /** Path or package. */
  readonly module: string;
  /** JSON object; may hold secrets. */
  readonly options: Secret | undefined;
  readonly storeText: boolean;
  readonly tombstoneRetentionMs: number;
  readonly allowMixedFingerprints: boolean;
};

export type MemorySinkConfig = {
  readonly kind: 'memory';
  readonly storeText: boolean;
  readonly tombstoneRetentionMs: number;
};

export type SingleSinkConfig =
  | LancedbSinkConfig
  | RedisSinkConfig
  | PgVectorSinkConfig
  | KafkaTopicSinkConfig
  | ModuleSinkConfig
  | MemorySinkConfig;

export type FanOutConfig = {
  readonly kind: 'fan-out';
  readonly members: readonly SingleSinkConfig[];
  readonly storeText: boolean;
  readonly tombstoneRetentionMs: number;
};

export type SinkConfig = SingleSinkConfig | FanOutConfig;

/** Without `kafka` there is no topic to write to. */
export function readSink(read: EnvReader, kafka?: KafkaSinkSource): SinkConfig {
  const all = sinkSettings;
  const value = read.section(all);
  const { storeText, tombstoneRetentionMs, allowMixedFingerprints } = value;
  const common = { storeText, tombstoneRetentionMs };
  const usesTls = /^rediss:/i.test(value.redisUrl.reveal());
  read.rule(
    value.redisCaPath === undefined || usesTls,
    [all.redisCaPath, all.redisUrl],
    `is set while ${all.redisUrl.name} is not rediss://; use rediss:// or unset it`,
  );
  if (value.redisCaPath !== undefined && usesTls) {
    const none = { certPath: undefined, keyPath: undefined };
    read.tlsFiles(
      { caPath: value.redisCaPath, ...none },
      { caPath: all.redisCaPath, certPath: all.redisCaPath, keyPath: all.redisCaPath },
    );
  }
  const pgvector = readPgVector(read, value, { ...common, allowMixedFingerprints });
  const lancedb = readLancedb(read, value, { ...common, allowMixedFingerprints });
  const kinds = value.module !== undefined && !read.isSet(all.kinds) ? (['module'] as const) : value.kinds;
  moduleRules(read, value, kinds);
  const memberOf = (kind: (typeof sinkKinds)[number]): SingleSinkConfig => {
    switch (kind) {
      case 'lancedb':
        return lancedb;
      case 'redis':
        return {
          kind,
          url: value.redisUrl,
          caPath: value.redisCaPath,
          keyPrefix: value.redisKeyPrefix,
          vectorDtype: value.redisVectorDtype,
          index: value.redisIndex,
          ...common,
          allowMixedFingerprints,
        };
      case 'pgvector':
        return pgvector;
      case 'kafka-topic': {
        const unread = { bootstrapServers: [], sasl: undefined, tls: undefined, consumerGroup: '', topic: '' };
        return {
          kind,
          kafka: kafka ?? unread,
          topic: value.kafkaSinkTopic,
          format: value.kafkaSinkFormat,
          compression: value.kafkaSinkCompression,
          maxWaitingBytes: value.kafkaSinkMaxWaitingBytes,
          ...common,
          allowMixedFingerprints,
        };
      }
      case 'module':
        return { kind, module: value.module ?? '', options: value.moduleOptions, ...common, allowMixedFingerprints };
      case 'memory':
        return { kind, ...common };
    }
  };
  const usesTopic = kinds.some((kind) => kind === 'kafka-topic');
  read.rule(!usesTopic || kafka !== undefined, [all.kinds], 'names kafka-topic, which works only where Kafka is read');
  read.rule(
    !usesTopic || kafka?.topic !== value.kafkaSinkTopic,
    [all.kafkaSinkTopic, kafkaSettings.topic],
    `is the topic that is read (${kafkaSettings.topic.name}); name another one`,
  );
  const members = kinds.map(memberOf);
  return members.length === 1 ? members[0]! : { kind: 'fan-out', members, ...common };
}

function moduleRules(read: EnvReader, value: ValuesOf<typeof sinkSettings>, kinds: readonly string[]): void {
  const all = sinkSettings;
  read.rule(
    value.module !== undefined || !kinds.includes('module'),
    [all.module, all.kinds],
    `is unset while ${all.kinds.name} names module; set the path or the package of your sink`,
  );
  read.rule(
    value.module === undefined || kinds.includes('module'),
    [all.module, all.kinds],
    `is set while ${all.kinds.name} does not name module; add module to it, or unset one of them`,
  );
  read.rule(
    value.moduleOptions === undefined || isJsonObject(value.moduleOptions.reveal()),
    [all.moduleOptions],
    'is no JSON object; write one in braces, with names and texts in double quotes',
  );
}

function isJsonObject(text: string): boolean {
  try {
    return typeof JSON.parse(text) === 'object';
  } catch {
    return false;
  }
}
