/** What every sink with a server does when that is killed in the middle of writes, whatever the server is. */
import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from 'vitest';
import type { RunningServer } from '../../scripts/stack/server-process.ts';
import type { Sink, SinkRow } from '../../src/sinks/sink.ts';
import { rowOf } from './sink-rows.ts';

export const OUTAGE = { failureClass: 'outage', code: 'SINK_UNAVAILABLE' };

/** Rows of chunks that are named by their offsets. */
export function batch(first: number, count = 50): SinkRow[] {
  return Array.from({ length: count }, (_, n) =>
    rowOf(`c${first + n}`, { offset: BigInt(first + n), text: 'some text' }),
  );
}

export async function expectWritesSurviveKill(sink: Sink, server: RunningServer): Promise<void> {
  const acknowledged: string[] = [];
  let failures = 0;
  let running = true;
  const writer = (async () => {
    for (let first = 0; running || failures === 0; ) {
      try {
        const rows = batch(first);
        await sink.write(rows);
        acknowledged.push(...rows.map((row) => row.chunkId));
        first += rows.length;
      } catch (error) {
        expect(error).toMatchObject({ failureClass: 'outage' });
        failures++;
        await sleep(20);
      }
    }
  })();
  await sleep(300);
  await server.kill('SIGKILL');
  await sleep(1_000);
  const before = acknowledged.length;
  await server.restart();
  await expect.poll(() => acknowledged.length, { timeout: 20_000 }).toBeGreaterThan(before + 500);
  running = false;
  await writer;
  expect(failures).toBeGreaterThan(0);
  expect((await sink.fetch(acknowledged)).length).toBe(acknowledged.length);
  expect(await sink.count()).toBe(new Set(acknowledged).size);
}
