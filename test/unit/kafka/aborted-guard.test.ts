/** The answer of a fetch, given to kafkajs's own filter after the guard: what it would hand out. */
import { createRequire } from 'node:module';
import { expect, it } from 'vitest';
import { type FetchedPartition, type FetchedRecord, markAborted } from '../../../src/kafka/aborted-guard.ts';

const filterAborted = createRequire(import.meta.url)('kafkajs/src/consumer/filterAbortedMessages') as (
  partition: FetchedPartition,
) => readonly FetchedRecord[];

const record = (offset: number, producerId: string, inTransaction = true): FetchedRecord => ({
  offset: String(offset),
  key: Buffer.from(`k${offset}`),
  isControlRecord: false,
  batchContext: { producerId, inTransaction },
});
const marker = (offset: number, producerId: string, kind: 'abort' | 'commit'): FetchedRecord => ({
  offset: String(offset),
  key: Buffer.from([0, 0, 0, kind === 'abort' ? 0 : 1]),
  isControlRecord: true,
  batchContext: { producerId, inTransaction: true },
});
const kept = (partition: FetchedPartition) =>
  filterAborted(partition)
    .filter(({ isControlRecord }) => isControlRecord !== true)
    .map(({ offset }) => Number(offset));

/** Two producers abort what overlaps; the one that began first ended last. A third commits, a fourth has no transaction. */
const overlapping = (): FetchedPartition => ({
  messages: [
    record(10, 'a'),
    record(11, 'b'),
    record(12, 'c'),
    record(13, 'd', false),
    record(14, 'a'),
    marker(15, 'b', 'abort'),
    record(16, 'b'),
    marker(17, 'a', 'abort'),
    record(18, 'a'),
    marker(19, 'a', 'commit'),
    marker(20, 'b', 'commit'),
    marker(21, 'c', 'commit'),
  ],
  abortedTransactions: [
    { producerId: 'b', firstOffset: '11' },
    { producerId: 'a', firstOffset: '10' },
  ],
});

it('kafkajs alone hands out records of aborted transactions that overlap', () => {
  expect(kept(overlapping())).toContain(10);
});

it('behind the guard only what is committed comes out', () => {
  const partition = overlapping();
  markAborted(partition);
  expect(kept(partition)).toEqual([12, 13, 16, 18]);
});

it('several that began before the first message of the answer are all known at once', () => {
  const partition: FetchedPartition = {
    messages: [record(10, 'b'), record(11, 'a'), marker(12, 'a', 'abort'), marker(13, 'b', 'abort'), record(14, 'a')],
    abortedTransactions: [
      { producerId: 'a', firstOffset: '3' },
      { producerId: 'b', firstOffset: '5' },
    ],
  };
  markAborted(partition);
  expect(kept(partition)).toEqual([14]);
});

it('an answer without aborted transactions is left as it is', () => {
  const partition: FetchedPartition = { messages: [record(1, 'a')], abortedTransactions: [] };
  markAborted(partition);
  expect(partition).toEqual({ messages: [record(1, 'a')], abortedTransactions: [] });
});
