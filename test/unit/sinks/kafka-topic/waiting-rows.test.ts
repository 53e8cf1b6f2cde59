import { expect, it } from 'vitest';
import type { Commit } from '../../../../src/offsets/commit-plan.ts';
import { WaitingRows } from '../../../../src/sinks/kafka-topic/waiting-rows.ts';

const at = (offset: bigint, partition = 0) => ({ topic: 't', partition, offset });
const commit = (offset: bigint, epoch = 1): Commit => ({ ...at(offset), epoch, metadata: '' });
const row = (key: string) => [{ key, value: 'x'.repeat(100) }];

it('a commit covers what lies before it, in the order of the source, and the rest waits', () => {
  const rows = new WaitingRows(1_000_000);
  rows.hold(at(7n), 1, 'c', row('c'));
  rows.hold(at(5n), 1, 'a', row('a'));
  rows.hold(at(5n), 1, 'b', row('b'));
  rows.hold(at(5n, 1), 1, 'other', row('other'));
  expect(rows.covered(commit(5n))).toEqual([]);
  expect(rows.covered(commit(6n)).map(({ key }) => key)).toEqual(['a', 'b']);
  expect(rows.covered(commit(8n)).map(({ key }) => key)).toEqual(['a', 'b', 'c']);
  rows.written(commit(6n));
  expect(rows.covered(commit(8n)).map(({ key }) => key)).toEqual(['c']);
});

it('the same row of the same message again takes the place of the first', () => {
  const rows = new WaitingRows(1_000_000);
  rows.hold(at(5n), 1, 'a', [{ key: 'a', value: 'first' }]);
  const { bytes } = rows;
  rows.hold(at(5n), 1, 'a', [{ key: 'a', value: 'again' }]);
  expect(rows.covered(commit(6n))).toEqual([{ key: 'a', value: 'again' }]);
  expect(rows.bytes).toBe(bytes);
});

it('rows of an earlier epoch are never written, and go with the next commit', () => {
  const rows = new WaitingRows(1_000_000);
  rows.hold(at(5n), 1, 'old', row('old'));
  expect(rows.covered(commit(9n, 2))).toEqual([]);
  rows.written(commit(1n, 2));
  expect(rows.bytes).toBe(0);
});

it('is full at its limit, and has room again once rows are written or their partition has left', () => {
  const rows = new WaitingRows(300);
  for (const offset of [1n, 2n]) rows.hold(at(offset), 1, 'a', row('a'));
  rows.hold(at(1n, 1), 1, 'a', row('a'));
  expect(rows.isFull).toBe(true);
  rows.written(commit(2n));
  expect(rows.isFull).toBe(false);
  rows.forget(at(0n));
  rows.forget(at(0n, 1));
  expect(rows.bytes).toBe(0);
});
