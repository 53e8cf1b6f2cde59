/** What every sink that several workers write to must hold, whatever the store is. */
import { expect } from 'vitest';
import type { Sink } from '../../src/sinks/sink.ts';
import { deletionOf, rowOf } from './sink-rows.ts';

/**
 * Two workers read one log that writes and deletes the same chunks: write, delete, write, …; the last of the even chunks is a
 * deletion, of the odd ones a write. What is there afterwards is what the log says.
 */
export async function expectLogHolds(sinks: readonly [Sink, Sink]): Promise<void> {
  const ids = Array.from({ length: 40 }, (_, n) => `c${n}`);
  const readLog = async (sink: Sink) => {
    for (let step = 0n; step < 20n; step++) {
      const writes = ids.filter((_, n) => (BigInt(n) + step) % 2n === 0n);
      const deletes = ids.filter((_, n) => (BigInt(n) + step) % 2n === 1n);
      await Promise.all([
        sink.write(writes.map((id) => rowOf(id, { offset: step }))),
        sink.remove(deletes.map((id) => deletionOf('chunk', id, step))),
      ]);
    }
  };
  await Promise.all(sinks.map(readLog));
  const last = ids.filter((_, n) => (BigInt(n) + 19n) % 2n === 0n);
  expect((await sinks[0].fetch(ids)).map((row) => [row.chunkId, row.source.offset])).toEqual(
    last.map((id) => [id, 19n]),
  );
  expect(await sinks[1].count()).toBe(last.length);
}
