/**
 * The snapshot behind /status and the live page: one schema for every program. Numbers come from where /metrics takes
 * them, so that both agree. Offsets are text: they may be larger than JSON numbers are exact.
 */
import { z } from 'zod';
import { poolTypes } from '../config/setting.ts';
import { vramStates } from '../lifecycle/health-states.ts';
import { phases } from '../lifecycle/phase.ts';
import { breakerStates } from '../resilience/breaker.ts';
import { checkSchema, isoTime } from './answer-schemas.ts';
import { field, named } from './schema-registry.ts';

const count = () => z.int().nonnegative();
const amount = () => z.number().nonnegative();
/** Where the static share comes from: what models say of themselves, or the least that was in use after they were loaded. */
const staticSources = ['statistics', 'floor'] as const;
const offset = () => z.string().regex(/^\d+$/);

const modelSchema = z.strictObject({
  name: z.string(),
  state: field(z.enum(['ready', 'not_ready', 'unknown']), 'unknown: not asked yet, or no answer.'),
  reason: z.string().nullable(),
  fingerprint: z.string().nullable(),
  dims: count().nullable(),
  maxBatch: count().nullable(),
  gpuBytes: field(count().nullable(), 'What the model says it holds of GPU memory; null where it does not say.'),
});

const breakerSchema = z.strictObject({ endpoint: z.string(), state: z.enum(breakerStates), since: isoTime() });

const engineSchema = named(
  'ModelServer',
  z.strictObject({
    target: field(z.string(), 'host:port of its gRPC side; several separated by commas.'),
    models: z.array(modelSchema),
    breakers: z.array(breakerSchema),
  }),
  'The model server as this process sees it.',
);

const gpuSchema = z.strictObject({
  gpu: z.string(),
  usedBytes: amount().nullable(),
  totalBytes: amount().nullable(),
  utilization: field(amount().nullable(), 'Used bytes as a share of the capacity that counts: may be above 1.'),
  staticBytes: amount().nullable(),
});

const vramSchema = named(
  'Vram',
  z.strictObject({
    state: z.enum(vramStates),
    reason: z.string().nullable(),
    utilization: field(amount().nullable(), 'Of the worst GPU.'),
    maxUtilization: amount(),
    staticBytes: field(amount().nullable(), 'Of the worst GPU.'),
    maxStaticBytes: amount(),
    staticSource: z.enum(staticSources).nullable(),
    capacityBytes: field(amount(), 'As set; a card that is smaller counts by its own size.'),
    gpus: z.array(gpuSchema),
  }),
  'GPU memory against its limits.',
);

const partitionSchema = z.strictObject({
  partition: count(),
  lag: field(count(), 'Messages behind the committed offset.'),
  committed: offset().nullable(),
  end: offset(),
});

export const historyPoints = 180;
export const historyStepSeconds = 5;
export const lastDeadLetters = 20;

const ingestSchema = named(
  'Ingest',
  z.strictObject({
    chunks: field(
      z.strictObject({
        persisted: count(),
        deleted: count(),
        superseded: count(),
        'handed-over': count(),
        'dead-lettered': count(),
        abandoned: count(),
      }),
      'Chunks by how their journey ended, since the start.',
    ),
    chunksPerSecond: field(amount(), 'Chunks stored, over the last ten seconds.'),
    inFlight: z.strictObject({ chunks: count(), bytes: count() }),
    joined: field(z.boolean(), 'Member of the consumer group.'),
    paused: field(z.array(z.string()), 'Why nothing is fetched.'),
    waiting: field(z.record(z.string(), count()), 'Partitions that wait, by what they wait for.'),
    lag: field(
      z.strictObject({ messages: count(), at: isoTime() }).nullable(),
      'Sum over our partitions, from the broker; null while it is not known.',
    ),
    partitions: field(z.array(partitionSchema), 'As of `lag.at`.'),
    transport: field(z.enum(['shared_memory', 'inline']).nullable(), 'The way of the last batch.'),
    slots: field(
      z.strictObject({ free: count(), leased: count(), quarantined: count() }).nullable(),
      'Shared-memory slots; null without shared memory.',
    ),
    retries: field(
      z.strictObject({ delayed: count(), waiting: count(), active: count() }).nullable(),
      'In the durable retry queue, of all workers; null without one or while it cannot be counted.',
    ),
    deadLetters: z.strictObject({
      total: count(),
      byCode: z.array(z.strictObject({ code: z.string(), count: count() })),
      last: field(
        z.array(z.strictObject({ code: z.string(), stage: z.string(), at: isoTime() })).max(lastDeadLetters),
        'Newest first. Codes only.',
      ),
    }),
    history: field(
      z.array(z.strictObject({ at: isoTime(), chunksPerSecond: amount(), lag: count().nullable() })).max(historyPoints),
      'Every five seconds of the last fifteen minutes, oldest first.',
    ),
  }),
  'What an ingest worker does.',
);

export const statusSchema = named(
  'Status',
  z.strictObject({
    at: isoTime(),
    program: z.enum(['worker', 'ops']),
    pool: z.enum(poolTypes),
    worker: z.string(),
    version: z.string(),
    uptimeSeconds: amount(),
    phase: z.enum(phases),
    phaseSince: isoTime(),
    ready: z.boolean(),
    checks: z.array(checkSchema),
    modelServer: engineSchema,
    vram: field(vramSchema.nullable(), 'Null where it is not watched.'),
    ingest: field(ingestSchema.nullable(), 'Null in a program that ingests nothing.'),
  }),
  'What an operator looks at.',
);

export type StatusSnapshot = z.infer<typeof statusSchema>;
export type IngestStatus = z.infer<typeof ingestSchema>;
export type ModelServerStatus = z.infer<typeof engineSchema>;
export type ModelStatus = z.infer<typeof modelSchema>;
export type VramStatus = z.infer<typeof vramSchema>;
