/** A collection that is being filled: how it is named, which settings its worker has, and which rows are copied into it. Pure. */
import type { WorkerConfig } from '../../src/config/programs.ts';
import type { SinkConfig } from '../../src/config/sections/sink.ts';
import { ServingError } from '../../src/errors.ts';
import type { SourcePosition } from '../../src/records/chunk.ts';
import type { Changeover } from '../../src/sinks/changeover.ts';

const GROUP_MARK = '.reembed.';

/** The group whose worker fills the collection: that of the settings, or one of its own for each that reembed began. */
export function groupOf(group: string, collection: string, { runs }: Pick<Changeover, 'runs'>): string {
  return collection in runs ? shadowGroup(group, collection) : plainGroup(group);
}

export function shadowGroup(group: string, collection: string): string {
  return `${plainGroup(group)}${GROUP_MARK}${collection}`;
}

function plainGroup(group: string): string {
  const at = group.indexOf(GROUP_MARK);
  return at === -1 ? group : group.slice(0, at);
}

/** Settings of a worker that fills the collection, beside the worker of the settings given and not in its way. */
export function shadowConfig(config: WorkerConfig, collection: string, opsPort: number): WorkerConfig {
  const tame = collection.replace(/[^A-Za-z0-9._-]/g, '-');
  return {
    ...config,
    workerId: `${config.workerId}.${tame}`.slice(0, 63),
    server: { ...config.server, port: opsPort },
    kafka: {
      ...config.kafka,
      consumerGroup: shadowGroup(config.kafka.consumerGroup, collection),
      // Partitions that come later are read whole; what was deleted before it was read must not be stepped over in silence.
      fromBeginning: true,
      offsetReset: 'stop',
    },
    sink: sinkWith(config.sink, collection),
    pipeline: { ...config.pipeline, deadLetterTopic: `${config.pipeline.deadLetterTopic}.${tame}`.slice(0, 249) },
  };
}

export function sinkWith(sink: SinkConfig, collection: string): SinkConfig {
  switch (sink.kind) {
    case 'lancedb':
      return { ...sink, table: collection };
    case 'redis':
      return { ...sink, keyPrefix: collection };
    case 'pgvector':
      return { ...sink, table: collection };
    default:
      return sink;
  }
}

/** Throws for a name that would mix the new collection with what is there. */
export function refuseName(sink: SinkConfig, to: string, taken: readonly string[]): void {
  if (taken.includes(to)) {
    throw argument(`--to ${to} is read now: name a collection that is not there yet`);
  }
  if (sink.kind !== 'redis') return;
  const parts = ['chunk:', 'doc:', 'tombstone:', 'meta', 'note'];
  const isInside = (one: string, other: string) => parts.some((part) => one.startsWith(`${other}${part}`));
  const inTheWay = taken.find((one) => isInside(to, one) || isInside(one, to));
  if (inTheWay === undefined) return;
  throw argument(`--to ${to} lies among the keys of ${inTheWay}: name another prefix, such as ${inTheWay}v2:`);
}

export type Fate = 'copy' | 'from topic' | 'without text';

/**
 * What becomes of a stored row. From its partition's start offset on the topic itself tells everything, updates and
 * deletions in their order, so a copy of such a row could only come between them.
 */
export function fateOf(
  row: { readonly source: SourcePosition; readonly text: string | undefined },
  topic: string | undefined,
  startOffsets: Readonly<Record<string, string>>,
): Fate {
  const { source, text } = row;
  if (topic !== undefined && source.topic === topic) {
    const start = startOffsets[String(source.partition)];
    if (start === undefined || source.offset >= BigInt(start)) return 'from topic';
  }
  return text === undefined ? 'without text' : 'copy';
}

function argument(message: string): ServingError {
  return new ServingError('ARGUMENT_INVALID', message);
}
