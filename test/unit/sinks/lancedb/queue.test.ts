import { describe, expect, it } from 'vitest';
import { WriterQueue } from '../../../../src/sinks/lancedb/queue.ts';

/** A queue over numbers whose groups end when told to. */
function heldQueue(maxGroupRows: number) {
  const groups: number[][] = [];
  const ends: { resolve: () => void; reject: (error: Error) => void }[] = [];
  const queue = new WriterQueue<number, string>(async (rows) => {
    groups.push([...rows]);
    await new Promise<void>((resolve, reject) => ends.push({ resolve, reject }));
    return rows.map((row) => `row ${row}`);
  }, maxGroupRows);
  return { queue, groups, ends };
}

const turn = () => new Promise<void>((resolve) => setImmediate(resolve));

describe('WriterQueue', () => {
  it('starts the first write at once and joins those that wait behind it, each with its own outcomes', async () => {
    const { queue, groups, ends } = heldQueue(10);
    const writes = [queue.write([1]), queue.write([2, 3]), queue.write([4])];
    await turn();
    expect(groups).toEqual([[1]]);
    ends[0]?.resolve();
    await turn();
    expect(groups).toEqual([[1], [2, 3, 4]]);
    ends[1]?.resolve();
    expect(await Promise.all(writes)).toEqual([['row 1'], ['row 2', 'row 3'], ['row 4']]);
  });

  it('keeps a group under its limit, but takes a larger call whole', async () => {
    const { queue, groups, ends } = heldQueue(3);
    const writes = [[1], [2, 3], [4, 5], [6, 7, 8, 9], [10]].map((rows) => queue.write(rows));
    for (let group = 0; group < 5; group++) {
      await turn();
      ends[group]?.resolve();
    }
    await Promise.all(writes);
    expect(groups).toEqual([[1], [2, 3], [4, 5], [6, 7, 8, 9], [10]]);
  });

  it('runs a task alone, between the writes before and after it', async () => {
    const { queue, groups, ends } = heldQueue(10);
    const order: string[] = [];
    const writes = [queue.write([1]), queue.write([2])];
    const alone = queue.alone(async () => order.push(`after ${groups.length} groups`));
    writes.push(queue.write([3]));
    await turn();
    ends[0]?.resolve();
    await turn();
    expect(order).toEqual([]);
    ends[1]?.resolve();
    await alone;
    await turn();
    ends[2]?.resolve();
    await Promise.all(writes);
    expect(order).toEqual(['after 2 groups']);
    expect(groups).toEqual([[1], [2], [3]]);
  });

  it('a failed group fails its writes only; the next ones go on', async () => {
    const { queue, ends } = heldQueue(1);
    const failing = queue.write([1]);
    const later = queue.write([2]);
    await turn();
    ends[0]?.reject(new Error('disk'));
    await expect(failing).rejects.toThrow('disk');
    await turn();
    ends[1]?.resolve();
    expect(await later).toEqual(['row 2']);
    await expect(queue.alone(() => Promise.reject(new Error('task')))).rejects.toThrow('task');
    await queue.idle();
  });

  it('idle waits for all that is queued', async () => {
    const { queue, groups, ends } = heldQueue(1);
    await queue.idle();
    const writes = [queue.write([1]), queue.write([2])];
    let idle = false;
    const waiting = queue.idle().then(() => (idle = true));
    await turn();
    ends[0]?.resolve();
    await turn();
    expect([idle, groups.length]).toEqual([false, 2]);
    ends[1]?.resolve();
    await waiting;
    await Promise.all(writes);
  });
});
