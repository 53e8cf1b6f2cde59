/**
 * The spans of a batch: one from the packer to the end of its last chunk, which links the trace context of every message in
 * it; the calls to the engine, the store, the retry queue and the dead letters hang under it, and so does the commit after it.
 *
 * A batch is a trace of its own, for its messages come from many. It says where they stand in Kafka, and nothing of what is in
 * them: ids of chunks are names of people's documents. What was sampled out links nothing and is linked by nothing.
 */
import type { ErrorCode } from '../errors.ts';
import { traceContextOf } from '../kafka/trace-headers.ts';
import type { RawMessage } from '../records/chunk.ts';
import type { Outcome, OutcomeKind } from '../records/outcome.ts';
import type { RecordInFlight } from '../records/travel.ts';
import type { AttributeName } from '../telemetry/span-attributes.ts';
import type { Span, SpanAttributes, SpanLink, SpanStart, Tracer } from '../telemetry/tracing.ts';
import type { PipelineStage } from './observer.ts';
import type { Traveller } from './traveller.ts';

export type PipelineTracesOptions = {
  readonly tracer: Tracer;
  readonly topic: string;
  readonly deadLetterTopic: string;
  readonly consumerGroup: string;
  readonly workerId: string;
};

/** Batches that have ended since the last commit; more are not linked by it. */
const MAX_UNCOMMITTED = 128;

const COUNT_OF = {
  persisted: 'rag_serving.chunks.persisted',
  deleted: 'rag_serving.chunks.deleted',
  superseded: 'rag_serving.chunks.superseded',
  'handed-over': 'rag_serving.chunks.handed_over',
  'dead-lettered': 'rag_serving.chunks.dead_lettered',
  abandoned: 'rag_serving.chunks.abandoned',
} as const satisfies Record<OutcomeKind, AttributeName>;

export class PipelineTraces {
  readonly #options: PipelineTracesOptions;
  readonly #ofGroup: SpanAttributes;
  #uncommitted: Span[] = [];

  constructor(options: PipelineTracesOptions) {
    this.#options = options;
    this.#ofGroup = {
      ...messaging('kafka'),
      'messaging.destination.name': options.topic,
      'messaging.consumer.group.name': options.consumerGroup,
      'messaging.client.id': options.workerId,
    };
  }

  /** The batch has ended when each of the records has. */
  batch(records: readonly Pick<RecordInFlight, 'raw'>[], closedBy: string): BatchTrace {
    const { tracer, topic, deadLetterTopic } = this.#options;
    const span = tracer.start({
      name: `process ${topic}`,
      kind: 'consumer',
      attributes: {
        ...this.#ofGroup,
        'messaging.operation.name': 'process',
        'messaging.operation.type': 'process',
        'rag_serving.rows': records.length,
        'rag_serving.batch.closed_by': closedBy,
      },
    });
    if (!span.recording) return new BatchTrace(span, records.length, deadLetterTopic, () => {});
    // Chunks of one batch message are one message.
    const messages = [...new Set(records.map(({ raw }) => raw))];
    span.set({ 'messaging.batch.message_count': messages.length });
    span.link(messages.flatMap(linkOf));
    return new BatchTrace(span, records.length, deadLetterTopic, () => {
      if (this.#uncommitted.length < MAX_UNCOMMITTED) this.#uncommitted.push(span);
    });
  }

  /** A commit has been tried. It hangs under the last batch that ended before it, and links the others. */
  committed(startedAtMs: number, code: ErrorCode | undefined): void {
    const ended = this.#uncommitted;
    const last = ended.at(-1);
    if (last === undefined) return;
    if (code === undefined) this.#uncommitted = [];
    const span = last.child({
      name: `commit ${this.#options.topic}`,
      kind: 'client',
      startedAtMs,
      attributes: { ...this.#ofGroup, 'messaging.operation.name': 'commit', 'messaging.operation.type': 'settle' },
    });
    span.link(ended.slice(0, -1).map(({ context }) => ({ context })));
    span.end(code);
  }
}

export class BatchTrace {
  readonly span: Span;
  readonly #deadLetterTopic: string;
  readonly #onEnded: () => void;
  readonly #counts = new Map<OutcomeKind, number>();
  #open: number;
  #code: ErrorCode | undefined;

  constructor(span: Span, records: number, deadLetterTopic: string, onEnded: () => void) {
    this.span = span;
    this.#open = records;
    this.#deadLetterTopic = deadLetterTopic;
    this.#onEnded = onEnded;
  }

  deadLetters(letters: number): Span {
    return this.span.child({
      name: `send ${this.#deadLetterTopic}`,
      kind: 'producer',
      attributes: {
        ...messaging('kafka'),
        'messaging.destination.name': this.#deadLetterTopic,
        'messaging.operation.name': 'send',
        'messaging.operation.type': 'send',
        ...(letters > 1 ? { 'messaging.batch.message_count': letters } : {}),
      },
    });
  }

  handOver(): Span {
    return this.span.child({
      name: 'send retry',
      kind: 'producer',
      attributes: {
        ...messaging('bullmq'),
        'messaging.operation.name': 'send',
        'messaging.operation.type': 'send',
      },
    });
  }

  /** What is still open will not be settled. */
  abandon(): void {
    while (this.#open > 0) this.settled({ kind: 'abandoned' });
  }

  /** One record has ended. The last one ends the span: with the code of the first that failed, if any has. */
  settled(outcome: Outcome): void {
    this.#counts.set(outcome.kind, (this.#counts.get(outcome.kind) ?? 0) + 1);
    if ('error' in outcome) this.#code ??= outcome.error.code;
    this.#open -= 1;
    if (this.#open > 0) return;
    this.span.set(Object.fromEntries([...this.#counts].map(([kind, count]) => [COUNT_OF[kind], count])));
    this.span.end(this.#code);
    this.#onEnded();
  }
}

/** OpenTelemetry's name of a database, where it has one. */
const SYSTEM_NAMES: Readonly<Record<string, string>> = { pgvector: 'postgresql' };

export function storeSpan(system: string, stage: PipelineStage, rows: number): SpanStart {
  const operation = stage === 'delete' ? 'delete' : 'upsert';
  return {
    name: `${operation} ${system}`,
    kind: 'client',
    attributes: {
      'db.system.name': SYSTEM_NAMES[system] ?? system,
      'db.operation.name': operation,
      // Of a single row the conventions want no size.
      ...(rows > 1 ? { 'db.operation.batch.size': rows } : {}),
    },
  };
}

function messaging(system: string): SpanAttributes {
  return { 'messaging.system': system, 'messaging.system.name': system };
}

function linkOf({ headers, source }: RawMessage): SpanLink[] {
  const context = traceContextOf(headers);
  if (context === undefined) return [];
  const attributes = {
    'messaging.destination.partition.id': String(source.partition),
    'messaging.kafka.offset': Number(source.offset),
  };
  return [{ context, attributes }];
}

/** Where the worker traces: one span for all of them, which ends when the last has settled. */
export function traceTogether(
  traces: PipelineTraces | undefined,
  travellers: readonly Traveller[],
  closedBy: string,
): void {
  if (traces === undefined) return;
  const trace = traces.batch(
    travellers.map(({ record }) => record),
    closedBy,
  );
  for (const traveller of travellers) traveller.trace = trace;
}
