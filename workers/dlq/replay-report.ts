/** What a replay did, counted and told; pure. */
import { type ReplayRefusal, replayRefusals } from '../../src/kafka/redrive-record.ts';

export type ReplayCounts = {
  /** Letters that were chosen. */
  chosen: number;
  /** In a dry run: would be. */
  replayed: number;
  /** Replayed by an earlier run. */
  already: number;
  readonly refused: Record<ReplayRefusal, number>;
  readonly topics: Map<string, number>;
};

const REFUSED_SAYS: Readonly<Record<ReplayRefusal, string>> = {
  'too-often': 'have been replayed --max-replays times and came back: mend what is wrong with them first',
  cut: 'hold only the beginning of their message: produce it again from where it came',
  'no-origin': 'do not say which topic they came from: give --to-topic',
  'no-chunk': 'name a chunk that their batch message does not have',
  'too-large': 'are larger than what their topic takes (max.message.bytes)',
};

export function newCounts(): ReplayCounts {
  const refused = Object.fromEntries(replayRefusals.map((refusal) => [refusal, 0])) as Record<ReplayRefusal, number>;
  return { chosen: 0, replayed: 0, already: 0, refused, topics: new Map() };
}

export function countRefused({ refused }: ReplayCounts): number {
  return Object.values(refused).reduce((sum, count) => sum + count, 0);
}

export function countReplayed(counts: ReplayCounts, topic: string): void {
  counts.replayed++;
  counts.topics.set(topic, (counts.topics.get(topic) ?? 0) + 1);
}

export function replayText(counts: ReplayCounts, dryRun: boolean): string {
  const { replayed, already, refused, topics } = counts;
  const where = Array.from(topics, ([topic, count]) => `${count} to ${topic}`).join(', ');
  const lines = [
    `${dryRun ? 'would replay' : 'replayed'} ${replayed} dead letters${where === '' ? '' : `: ${where}`}`,
    ...(already === 0 ? [] : [`${already} had been replayed before`]),
    ...replayRefusals
      .filter((refusal) => refused[refusal] > 0)
      .map((refusal) => `${refused[refusal]} not replayed: they ${REFUSED_SAYS[refusal]}`),
  ];
  return `${lines.join('\n')}\n`;
}

export function replayJson(counts: ReplayCounts, more: Readonly<Record<string, unknown>>) {
  const { chosen, replayed, already, refused, topics } = counts;
  return { ...more, chosen, replayed, already, refused, topics: Object.fromEntries(topics) };
}
