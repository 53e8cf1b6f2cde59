/**
 * Copies stored text into the new collection: through the worker's own pipeline, as the revisions they are, a page at a time.
 *
 * What was written before is looked up and not embedded again, so a run that was killed loses the page it was at. Refused
 * chunks are counted and go nowhere: their text is still in the old collection.
 */
import { systemClock } from '../../src/clock.ts';
import type { WorkerConfig } from '../../src/config/programs.ts';
import type { ServingError } from '../../src/errors.ts';
import type { DeadLetters } from '../../src/kafka/dead-letter.ts';
import { defaultFailurePolicy } from '../../src/pipeline/failure-policy.ts';
import { Holds } from '../../src/pipeline/holds.ts';
import { unobserved } from '../../src/pipeline/observer.ts';
import { Pipeline } from '../../src/pipeline/pipeline.ts';
import type { ChunkInFlight } from '../../src/records/travel.ts';
import type { Run } from '../../src/sinks/changeover.ts';
import type { Sink, StoredRow } from '../../src/sinks/sink.ts';
import type { Log } from '../../src/telemetry/log.ts';
import { untilAborted } from '../signals.ts';
import type { OpenedTransport } from '../worker/embed-transport.ts';
import type { EngineConnection } from '../worker/engine-connection.ts';
import { pipelineOptions } from '../worker/pipeline-options.ts';
import { fateOf } from './shadow.ts';

export type CopyParts = {
  readonly config: WorkerConfig;
  readonly engine: EngineConnection & OpenedTransport;
  readonly from: Sink;
  readonly to: Sink;
  /** Undefined: no topic goes on where the copy ends. */
  readonly topic: string | undefined;
  readonly log: Log;
};

export type CopyState = Pick<Run, 'token' | 'copied' | 'withoutText' | 'refused'>;
type Counts = { copied: number; withoutText: number; refused: number };

const SAVE_EVERY_MS = 3_000;
/** Batches of a page, for each that may be in flight. */
const DEPTH = 2;

/** Resolves with the end of the copy. `save` is called now and then, and at the end; what is before its token is stored. */
export async function copyStored(
  { config, engine, from, to, topic, log }: CopyParts,
  run: Run,
  save: (state: CopyState) => Promise<void>,
  signal: AbortSignal,
): Promise<CopyState> {
  const begun = { copied: run.copied, withoutText: run.withoutText, refused: run.refused };
  // Without a token all rows are looked at, and so counted, again.
  const counts: Counts = run.token === null ? { copied: 0, withoutText: 0, refused: 0 } : begun;
  const failed = new AbortController();
  const stop = AbortSignal.any([signal, failed.signal]);
  const pipeline = newPipeline(config, engine, to, counts, log, (error) => failed.abort(error));
  const pageRows = engine.maxBatch * config.pipeline.batchesInFlight * DEPTH;
  try {
    let token = run.token ?? undefined;
    let savedMs = systemClock.monotonicMs();
    for (;;) {
      stop.throwIfAborted();
      const page = (await from.scan?.(token, pageRows, stop)) ?? { rows: [], next: undefined };
      const copies = await missing(page.rows, to, counts, { topic, startOffsets: run.startOffsets }, stop);
      await embedAll(pipeline, copies, counts, stop);
      token = page.next;
      if (token === undefined) break;
      if (systemClock.monotonicMs() - savedMs < SAVE_EVERY_MS) continue;
      await save({ token, ...counts });
      log.info('copying stored text', counts);
      savedMs = systemClock.monotonicMs();
    }
    const end = { token: null, ...counts };
    await save(end);
    return end;
  } finally {
    await pipeline.drain(AbortSignal.timeout(0));
  }
}

async function missing(
  rows: readonly StoredRow[],
  to: Sink,
  counts: Counts,
  { topic, startOffsets }: { readonly topic: string | undefined; readonly startOffsets: Run['startOffsets'] },
  signal: AbortSignal,
): Promise<readonly StoredRow[]> {
  const fates = rows.map((row) => fateOf(row, topic, startOffsets));
  counts.withoutText += fates.filter((fate) => fate === 'without text').length;
  const meant = rows.filter((_, index) => fates[index] === 'copy');
  const held = new Map(
    (
      await to.fetch(
        meant.map(({ chunkId }) => chunkId),
        signal,
      )
    ).map((row) => [row.chunkId, row]),
  );
  const lacking = meant.filter((row) => {
    const there = held.get(row.chunkId);
    return there === undefined || !isSameRevision(row, there);
  });
  counts.copied += meant.length - lacking.length;
  return lacking;
}

export function isSameRevision(a: StoredRow, b: StoredRow): boolean {
  return (
    a.version === b.version &&
    a.textSha256 === b.textSha256 &&
    a.source.offset === b.source.offset &&
    a.source.partition === b.source.partition &&
    a.source.topic === b.source.topic
  );
}

async function embedAll(
  pipeline: Pipeline,
  rows: readonly StoredRow[],
  counts: Counts,
  signal: AbortSignal,
): Promise<void> {
  const settled = Promise.all(
    rows.map(
      (row) =>
        new Promise<void>((resolve) => {
          pipeline.accept([
            inFlight(row, (outcome) => {
              if (outcome.kind === 'persisted') counts.copied += 1;
              resolve();
            }),
          ]);
        }),
    ),
  );
  const given = new AbortController();
  await Promise.race([settled, untilAborted(AbortSignal.any([signal, given.signal]))]);
  given.abort();
  signal.throwIfAborted();
}

function inFlight(row: StoredRow, settle: ChunkInFlight['settle']): ChunkInFlight {
  const { chunkId, documentId, tenantId, text = '', truncated, version, metadata, source, embeddedAtMs } = row;
  return {
    kind: 'chunk',
    chunk: { chunkId, documentId, tenantId, text, truncated, version, metadata, source, batchIndex: undefined },
    raw: { source, key: null, value: null, headers: [], timestampMs: embeddedAtMs },
    settle,
  };
}

function newPipeline(
  config: WorkerConfig,
  { transport, contract, maxBatch }: CopyParts['engine'],
  sink: Sink,
  counts: Counts,
  log: Log,
  onFatal: (error: ServingError) => void,
): Pipeline {
  const deadLetters: DeadLetters = {
    send: async (letters) => {
      counts.refused += letters.length;
      for (const { error, stage, raw } of letters) {
        const { partition, offset } = raw.source;
        log.warn('a chunk was refused and is not copied', { code: error.code, stage, partition, offset });
      }
    },
    close: async () => {},
  };
  return new Pipeline({
    transport,
    contract,
    sink,
    deadLetters,
    retries: undefined,
    surroundings: {
      policy: defaultFailurePolicy,
      holds: new Holds({
        pause: (reason) => log.warn('attempts fail and are repeated', { reason }),
        resume: (reason) => log.info('goes on', { reason }),
      }),
      observer: unobserved,
      log,
      clock: systemClock,
    },
    ...pipelineOptions(config, maxBatch),
    onFatal,
  });
}
