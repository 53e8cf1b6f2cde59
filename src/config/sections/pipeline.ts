/** How much is in flight at once, how long it may take, and what happens to what does not fit. */
import type { EnvReader } from '../env-reader.ts';
import { boolean, choice, integer, text } from '../leaf-types.ts';
import { always, byPool, unset } from '../setting.ts';
import { kafkaSettings } from './kafka.ts';
import { type ShmConfig, shmSettings } from './shm.ts';

export const pipelineSettings = {
  maxBatchSize: integer(
    'RAG_SERVING_MAX_BATCH_SIZE',
    byPool(32, 32, 256),
    { min: 1, max: 4_096 },
    {
      doc: 'Most texts in one inference call; a model that takes fewer lowers it.',
    },
  ),
  maxQueueDelayMicroseconds: integer(
    'RAG_SERVING_MAX_QUEUE_DELAY_MICROSECONDS',
    byPool(2_000, 4_000, 50_000),
    { min: 0, max: 10_000_000 },
    { doc: 'How long the first text of a batch waits for more.' },
  ),
  maxTextBytes: integer(
    'RAG_SERVING_MAX_TEXT_BYTES',
    always(65_536),
    { min: 1, max: 16_777_216 },
    {
      doc: 'Longest text of a chunk in UTF-8 bytes; longer ones follow RAG_SERVING_OVERSIZE_POLICY.',
    },
  ),
  oversizePolicy: choice('RAG_SERVING_OVERSIZE_POLICY', ['truncate', 'reject'], always('truncate'), {
    doc: 'truncate: cut a text that is too long at a code point and mark the chunk. reject: send it to the dead letters.',
  }),
  vectorNorm: choice('RAG_SERVING_VECTOR_NORM', ['unit', 'any'], always('unit'), {
    doc: 'unit: the model normalises, and a vector of another length (by more than 2 %) is refused like one that is not finite. any: it does not.',
  }),
  maxInFlightChunks: integer(
    'RAG_SERVING_MAX_IN_FLIGHT_CHUNKS',
    always(8_192),
    { min: 1, max: 10_000_000 },
    {
      doc: 'Chunks in memory between poll and commit; at this mark fetching pauses.',
    },
  ),
  maxInFlightBytes: integer(
    'RAG_SERVING_MAX_IN_FLIGHT_BYTES',
    always(67_108_864),
    { min: 1_024, max: 17_179_869_184 },
    { doc: 'Bytes of messages in memory between poll and commit; at this mark fetching pauses.' },
  ),
  batchesInFlight: integer(
    'RAG_SERVING_BATCHES_IN_FLIGHT',
    unset,
    { min: 1, max: 256 },
    {
      doc: 'Inference calls at once. At most RAG_SERVING_SHM_SLOTS, unless shared memory is off.',
      defaultNote: 'the value of RAG_SERVING_SHM_SLOTS (4)',
    },
  ),
  persistConcurrency: integer(
    'RAG_SERVING_PERSIST_CONCURRENCY',
    always(2),
    { min: 1, max: 64 },
    {
      doc: 'Writes to the store at once.',
    },
  ),
  commitIntervalMs: integer(
    'RAG_SERVING_COMMIT_INTERVAL_MS',
    always(1_000),
    { min: 50, max: 60_000 },
    {
      doc: 'Milliseconds between commits of what is done; a batch that is done is committed at once.',
    },
  ),
  drainTimeoutMs: integer(
    'RAG_SERVING_DRAIN_TIMEOUT_MS',
    always(25_000),
    { min: 1_000, max: 600_000 },
    {
      doc: 'Milliseconds a stopping worker takes at most. Below KAFKA_SESSION_TIMEOUT_MS and the grace period of the pod.',
    },
  ),
  keepUnknownFields: boolean('RAG_SERVING_KEEP_UNKNOWN_FIELDS', false, {
    doc: 'Keep fields of a chunk message that are not documented, in its metadata.',
  }),
  deadLetterTopic: text(
    'RAG_SERVING_DEAD_LETTER_TOPIC',
    unset,
    { doc: 'Topic of chunks that cannot be embedded or stored.', defaultNote: '<KAFKA_TOPIC>.dlq' },
    {
      test: /^(?!\.{1,2}$)[A-Za-z0-9._-]{1,249}$/,
      says: 'a topic name: 1–249 letters, digits, dots, hyphens or underscores',
    },
  ),
} as const;

export type PipelineConfig = {
  readonly maxBatchSize: number;
  /** How long the first text of a batch waits for more. */
  readonly maxWaitMs: number;
  readonly maxTextBytes: number;
  readonly oversizePolicy: 'truncate' | 'reject';
  readonly vectorNorm: 'unit' | 'any';
  readonly keepUnknownFields: boolean;
  readonly maxInFlightChunks: number;
  readonly maxInFlightBytes: number;
  readonly batchesInFlight: number;
  readonly persistConcurrency: number;
  readonly commitIntervalMs: number;
  readonly drainTimeoutMs: number;
  readonly deadLetterTopic: string;
};

export type PipelineNeighbours = {
  readonly kafka: { readonly topic: string; readonly sessionTimeoutMs: number };
  readonly shm: ShmConfig;
};

export function readPipeline(read: EnvReader, { kafka, shm }: PipelineNeighbours): PipelineConfig {
  const all = pipelineSettings;
  const { maxQueueDelayMicroseconds, ...value } = read.section(all);
  const deadLetterTopic = value.deadLetterTopic ?? `${kafka.topic}.dlq`;
  // Off means no slots, so nothing to fit into them.
  const usesSlots = shm.mode !== 'off';
  const smallestSlot = value.maxTextBytes + 4;
  read.rule(
    !usesSlots || shm.slotInputBytes >= smallestSlot,
    [shmSettings.slotInputBytes, all.maxTextBytes],
    `(${shm.slotInputBytes}) is less than ${all.maxTextBytes.name} + 4 bytes of length prefix; set at least ${smallestSlot}`,
  );
  read.rule(
    !usesSlots || value.batchesInFlight === undefined || value.batchesInFlight <= shm.slots,
    [all.batchesInFlight, shmSettings.slots],
    `(${value.batchesInFlight}) is more than ${shmSettings.slots.name} (${shm.slots}); each batch in flight needs a slot`,
  );
  read.rule(
    value.maxInFlightChunks >= value.maxBatchSize,
    [all.maxInFlightChunks, all.maxBatchSize],
    `(${value.maxInFlightChunks}) is less than ${all.maxBatchSize.name} (${value.maxBatchSize}); no batch could fill`,
  );
  read.rule(
    value.maxInFlightBytes >= value.maxTextBytes,
    [all.maxInFlightBytes, all.maxTextBytes],
    `(${value.maxInFlightBytes}) is less than ${all.maxTextBytes.name} (${value.maxTextBytes}); set at least as much`,
  );
  // A drain that outlives the session is fenced half-way: the group has already moved on.
  read.rule(
    value.drainTimeoutMs < kafka.sessionTimeoutMs,
    [all.drainTimeoutMs, kafkaSettings.sessionTimeoutMs],
    `(${value.drainTimeoutMs}) is not below ${kafkaSettings.sessionTimeoutMs.name} (${kafka.sessionTimeoutMs}); lower it or raise the session timeout`,
  );
  read.rule(
    deadLetterTopic !== kafka.topic,
    [all.deadLetterTopic, kafkaSettings.topic],
    `equals ${kafkaSettings.topic.name}: dead letters would be read as chunks again; set another topic`,
  );
  return {
    ...value,
    maxWaitMs: maxQueueDelayMicroseconds / 1_000,
    batchesInFlight: value.batchesInFlight ?? shm.slots,
    deadLetterTopic,
  };
}
