/** What an ingest worker has besides: numbers, charts, partitions, slots, retries, dead letters. Pure. */
import type { IngestStatus } from '../src/ops/status-schema.ts';
import { type Cell, clock, code, type Fact, number, state, type Table, text } from './cells.ts';
import type { Point } from './chart.ts';
import { formatBytes, formatCount, formatRate, words } from './format.ts';

export type IngestSeries = { readonly rate: readonly Point[]; readonly lag: readonly Point[] };

/** The history, and what is true now at its end. */
export function seriesOf({ history, chunksPerSecond, lag }: IngestStatus, at: string): IngestSeries {
  const points = [...history, { at, chunksPerSecond, lag: lag === null ? null : lag.messages }];
  return {
    rate: points.map((point) => ({ atMs: Date.parse(point.at), value: point.chunksPerSecond })),
    lag: points.map((point) => ({ atMs: Date.parse(point.at), value: point.lag })),
  };
}

const count = (value: number): Cell => number(value, formatCount(value));

export function keyFacts({ chunks, chunksPerSecond, lag, inFlight, deadLetters, retries }: IngestStatus): Fact[] {
  return [
    { name: 'Chunks per second', cell: number(chunksPerSecond, formatRate(chunksPerSecond)), note: 'over ten seconds' },
    {
      name: 'Lag',
      cell: lag === null ? text('not known') : count(lag.messages),
      note: lag === null ? 'the broker has not told' : 'messages behind',
    },
    { name: 'Stored', cell: count(chunks.persisted), note: 'chunks since the start' },
    { name: 'In flight', cell: count(inFlight.chunks), note: formatBytes(inFlight.bytes) },
    {
      name: 'Retries waiting',
      cell: retries === null ? text('none kept') : count(retries.delayed + retries.waiting + retries.active),
      note:
        retries === null
          ? 'no retry queue, or it does not answer'
          : `${formatCount(retries.active)} running, of all workers`,
    },
    { name: 'Dead letters', cell: count(deadLetters.total), note: 'since the start' },
  ];
}

/** Those that are furthest behind first. */
export function partitionsTable({ partitions, joined, lag }: IngestStatus): Table {
  const sorted = [...partitions].sort((one, other) => other.lag - one.lag || one.partition - other.partition);
  return {
    caption: 'Partitions',
    columns: ['Partition', 'Lag', 'Committed', 'End'],
    rows: sorted.map((one) => [
      count(one.partition),
      count(one.lag),
      one.committed === null ? text('nothing yet') : number(one.committed, formatCount(one.committed)),
      number(one.end, formatCount(one.end)),
    ]),
    empty: emptyPartitions(joined, lag === null),
    isLong: true,
  };
}

function emptyPartitions(joined: boolean, unknown: boolean): string {
  if (!joined) return 'Not a member of the consumer group, so there are no partitions.';
  return unknown ? 'The broker has not told the offsets yet.' : 'A member of the group, without partitions of its own.';
}

const OUTCOMES: Readonly<Record<keyof IngestStatus['chunks'], string>> = {
  persisted: 'stored',
  deleted: 'deleted',
  superseded: 'superseded by a newer one',
  'handed-over': 'handed over to retries',
  'dead-lettered': 'dead-lettered',
  abandoned: 'left for another worker',
};

export function outcomesTable({ chunks }: IngestStatus): Table {
  return {
    caption: 'How chunks ended',
    columns: ['Outcome', 'Chunks'],
    rows: Object.entries(OUTCOMES).map(([kind, words]) => [text(words), count(chunks[kind as keyof typeof OUTCOMES])]),
    empty: '',
  };
}

export function intakeFacts({ joined, paused, waiting, transport }: IngestStatus): Fact[] {
  const waits = Object.entries(waiting).filter(([, partitions]) => partitions > 0);
  return [
    { name: 'Consumer group', cell: joined ? state('good', 'joined') : state('bad', 'not joined') },
    {
      name: 'Fetching',
      cell: paused.length === 0 ? state('good', 'yes') : state('odd', `paused: ${paused.map(words).join(', ')}`),
    },
    {
      name: 'Partitions that wait',
      cell:
        waits.length === 0
          ? text('none')
          : text(waits.map(([why, partitions]) => `${formatCount(partitions)} for ${words(why)}`).join(', ')),
    },
    {
      name: 'Way to the model',
      cell: text(
        transport === null ? 'nothing sent yet' : transport === 'inline' ? 'inside the call' : 'shared memory',
      ),
    },
  ];
}

export type SlotsView = {
  readonly total: number;
  readonly parts: readonly { readonly name: string; readonly count: number; readonly tone: 'quiet' | 'good' | 'odd' }[];
  readonly text: string;
};

/** Undefined without shared memory. */
export function slotsView({ slots }: IngestStatus): SlotsView | undefined {
  if (slots === null) return undefined;
  const { free, leased, quarantined } = slots;
  return {
    total: free + leased + quarantined,
    parts: [
      { name: 'leased', count: leased, tone: 'good' },
      { name: 'quarantined', count: quarantined, tone: 'odd' },
      { name: 'free', count: free, tone: 'quiet' },
    ],
    text: `${formatCount(leased)} leased, ${formatCount(quarantined)} quarantined, ${formatCount(free)} free`,
  };
}

export function retriesTable({ retries }: IngestStatus): Table {
  return {
    caption: 'Retry queue, of all workers',
    columns: ['State', 'Chunks'],
    rows:
      retries === null
        ? []
        : [
            [text('waiting for their time'), count(retries.delayed)],
            [text('due'), count(retries.waiting)],
            [text('running'), count(retries.active)],
          ],
    empty: 'No durable retry queue is set, or it does not answer.',
  };
}

export function lettersByCode({ deadLetters }: IngestStatus): Table {
  return {
    caption: 'By code',
    columns: ['Code', 'Chunks'],
    rows: [...deadLetters.byCode]
      .sort((one, other) => other.count - one.count)
      .map((letter) => [code(letter.code), count(letter.count)]),
    empty: 'None since the start.',
  };
}

export function lastLetters({ deadLetters }: IngestStatus): Table {
  return {
    caption: 'The last ones',
    columns: ['Time', 'Code', 'Stage'],
    rows: deadLetters.last.map((letter) => [clock(letter.at), code(letter.code), text(words(letter.stage))]),
    empty: 'None since the start.',
    isLong: true,
  };
}
