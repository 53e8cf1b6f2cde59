/** The part of the screen that comes from the broker: lag and rate, partitions, members. Pure. */
import type { GroupState } from '../../src/kafka/group-control.ts';
import type { Position } from '../offsets/positions.ts';
import { type Cell, grid } from '../tool/grid.ts';
import { formatCount, formatDuration, formatRanges, formatRate } from '../tool/quantity.ts';
import { harmless } from '../tool/table.ts';
import type { Line, Span, Tone } from '../tool/terminal.ts';
import { etaOf, lagOf } from './flow.ts';
import type { Block } from './layout.ts';
import type { StatusReport } from './report.ts';
import { knownValue, type Reading } from './source.ts';

export function span(text: string, tone: Tone = 'plain'): Span {
  return { text, tone };
}

const LABEL_WIDTH = 14;

/** One line with its name before it; what is not known says why. */
export function labelled<T>(label: string, reading: Reading<T>, told: (value: T) => Line): Line {
  const name = span(label.padEnd(LABEL_WIDTH), 'quiet');
  switch (reading.kind) {
    case 'known':
      return [name, ...told(reading.value)];
    case 'away':
      return [name, span(reading.code, 'bad'), span(` ${harmless(reading.reason)}`)];
    case 'off':
      return [name, span(reading.reason, 'quiet')];
    case 'asking':
      return [name, span('asking …', 'quiet')];
  }
}

export function lagLine({ offsets, flow }: StatusReport): Line {
  return labelled('lag', offsets, (positions) => {
    const lag = lagOf(positions);
    const beyond = positions.reduce((sum, { doneBeyond }) => sum + doneBeyond, 0n);
    const spans = [span(formatCount(lag), lag === 0n ? 'good' : 'title')];
    if (beyond > 0n) spans.push(span(` (${formatCount(beyond)} of it stored beyond the commits)`));
    if (flow !== undefined) {
      spans.push(
        span(`  ${formatRate(flow.committedPerSecond)} committed, ${formatRate(flow.arrivedPerSecond)} arriving`),
      );
    }
    const eta = etaOf(lag, flow);
    switch (eta.kind) {
      case 'caught-up':
        spans.push(span('  caught up', 'good'));
        break;
      case 'in':
        spans.push(span(`  zero in ${formatDuration(eta.ms)}`));
        break;
      case 'never':
        spans.push(span('  not shrinking', 'warning'));
        break;
      case 'unknown':
        break;
    }
    return spans;
  });
}

export function partitionBlock({ offsets, members, topic }: StatusReport): Block | undefined {
  const positions = knownValue(offsets);
  if (positions === undefined) return undefined;
  const owners = ownersOf(knownValue(members), topic);
  const [head, ...rows] = grid(
    ['PARTITION', 'COMMITTED', 'END', 'LAG', 'DONE BEYOND', 'OWNER'],
    positions.map((one) => rowOf(one, owners.get(one.partition))),
  );
  const lags = positions.map(({ lag }) => Number(lag));
  return {
    head: head === undefined ? [] : [head],
    rows,
    ranks: lags,
    rest: (left) => {
      const lag = lagOf(left.flatMap((index) => positions[index] ?? []));
      return [span(`… ${left.length} more partitions, lag ${formatCount(lag)}`, 'quiet')];
    },
  };
}

function rowOf({ partition, committed, end, lag, doneBeyond }: Position, owner: string | undefined): readonly Cell[] {
  const number = (value: bigint | number, tone: Tone = 'plain'): Cell => ({
    text: formatCount(value),
    tone,
    align: 'right',
  });
  return [
    { text: String(partition), align: 'right' },
    committed === undefined ? { text: '-', align: 'right' } : number(committed),
    number(end),
    number(lag, lag === 0n ? 'plain' : 'title'),
    number(doneBeyond),
    { text: owner ?? '-', tone: owner === undefined ? 'quiet' : 'plain' },
  ];
}

function ownersOf(group: GroupState | undefined, topic: string): ReadonlyMap<number, string> {
  const owners = new Map<number, string>();
  for (const { clientId, partitions } of group?.members ?? []) {
    for (const partition of partitions.get(topic) ?? []) owners.set(partition, clientId);
  }
  return owners;
}

/** What Kafka's word for the state means to an operator. */
export function groupWords(state: string, members: number, committed: boolean): readonly [words: string, tone: Tone] {
  const count = `${members} ${members === 1 ? 'member' : 'members'}`;
  switch (state) {
    case 'Stable':
      return [`Stable, ${count}`, 'good'];
    case 'PreparingRebalance':
    case 'CompletingRebalance':
      return [`${state}: rebalancing, ${count}`, 'warning'];
    case 'Empty':
      return ['Empty: nobody reads', 'warning'];
    case 'Dead':
      return committed
        ? ['Dead: nobody reads', 'warning']
        : ['never seen: nobody reads and nothing is committed', 'warning'];
    default:
      return [`${state}, ${count}`, 'warning'];
  }
}

export function groupBlock({ members, offsets, topic }: StatusReport): Block {
  const committed = knownValue(offsets)?.some((one) => one.committed !== undefined) ?? true;
  const line = labelled('group', members, ({ state, members: all }) => {
    const [words, tone] = groupWords(state, all.length, committed);
    return [span(words, tone)];
  });
  const [head, ...rows] = grid(
    ['MEMBER', 'HOST', 'PARTITIONS'],
    (knownValue(members)?.members ?? []).map(({ clientId, host, partitions }) => {
      const own = partitions.get(topic) ?? [];
      return [{ text: clientId }, { text: host.replace(/^\//, '') }, { text: formatRanges(own) || '-' }];
    }),
  );
  return {
    head: [line, ...(rows.length === 0 || head === undefined ? [] : [head])],
    rows,
    rest: (left) => [span(`… ${left.length} more members`, 'quiet')],
  };
}
