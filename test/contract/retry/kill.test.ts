/** A process that dies while it runs retries. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { afterEach, expect, it } from 'vitest';
import { useRedis } from '../../support/stack.ts';
import { DONE, EMPTY, entriesOf, freshTopic, openQueue, PATIENCE, recorded, recordingLog, sorted } from './fixture.ts';

const redis = useRedis();
const children = new Set<ChildProcess>();
afterEach(() => {
  for (const child of children) child.kill('SIGKILL');
  children.clear();
});

it('SIGKILL with retries running: another worker takes them over, without counting an attempt', async () => {
  const topic = freshTopic();
  const log = recordingLog();
  const queue = openQueue(topic, { url: redis().url, lockMs: 2_000, log });
  await queue.handOver(entriesOf(topic, [1, 2, 3]));
  const runner = join(import.meta.dirname, '../../support/stack-run.mjs');
  const child = spawn(process.execPath, [runner, join(import.meta.dirname, 'child.ts'), redis().url, topic], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  children.add(child);
  const taken: number[] = [];
  createInterface({ input: child.stdout }).on('line', (line) => void taken.push(Number(line)));
  await expect.poll(() => sorted(taken), { timeout: 60_000 }).toEqual([1, 2, 3]);
  child.kill('SIGKILL');
  await once(child, 'exit');
  expect(await queue.counts()).toEqual({ delayed: 0, waiting: 0, active: 3 });
  const { runs, offsets, run } = recorded(() => DONE);
  await queue.start(run);
  await expect.poll(() => sorted(offsets()), PATIENCE).toEqual([1, 2, 3]);
  expect(runs.map(({ job }) => job.attempt)).toEqual([2, 2, 2]);
  await expect.poll(() => queue.counts(), PATIENCE).toEqual(EMPTY);
  expect(log.lines.join('\n')).toContain('retries of a worker that vanished are run again');
});
