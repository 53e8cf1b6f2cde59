import { expect, it } from 'vitest';
import { ServingError } from '../../../../src/errors.ts';
import { PolledSource } from '../../../../workers/status/source.ts';

const redact = (text: string) => text.replace('secret', '***');
const never = new AbortController().signal;

it('is asked once at a time, and what it said last stays while it is asked again', async () => {
  const answers: ((value: number) => void)[] = [];
  const source = new PolledSource(() => new Promise<number>((resolve) => answers.push(resolve)), redact);
  expect(source.reading).toEqual({ kind: 'asking' });
  const first = source.look(() => 7, never);
  const same = source.look(() => 8, never);
  answers[0]?.(1);
  await Promise.all([first, same]);
  expect(answers).toHaveLength(1);
  void source.look(() => 9, never);
  expect(source.reading).toEqual({ kind: 'known', value: 1, atMs: 7 });
});

it('an error is a reading with its code and a reason without secrets; the next answer replaces it', async () => {
  let fails = true;
  const source = new PolledSource(async () => {
    if (fails) throw new ServingError('OPS_UNAVAILABLE', 'no answer, secret');
    return 'well';
  }, redact);
  await source.look(() => 1, never);
  expect(source.reading).toEqual({ kind: 'away', code: 'OPS_UNAVAILABLE', reason: 'no answer, ***', atMs: 1 });
  fails = false;
  await source.look(() => 2, never);
  expect(source.reading).toMatchObject({ kind: 'known', value: 'well' });
});

it('being stopped ends the wait for something that hangs, and is no failure of it', async () => {
  const stop = new AbortController();
  const source = new PolledSource(() => new Promise<never>(() => {}), redact);
  const look = source.look(() => 1, stop.signal);
  stop.abort();
  await look;
  expect(source.reading).toEqual({ kind: 'asking' });
});
