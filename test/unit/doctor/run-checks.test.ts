import { describe, expect, it } from 'vitest';
import { ServingError } from '../../../src/errors.ts';
import type { Check, Outcome } from '../../../workers/doctor/check.ts';
import { runChecks } from '../../../workers/doctor/run-checks.ts';

const ok: Outcome = { kind: 'ok', found: 'there' };
const check = (name: string, look: Check['look'], after: readonly string[] = []): Check => ({
  name,
  group: 'machine',
  after,
  look,
});
const never = () => new AbortController().signal;
const within = (timeoutMs: number) => ({ timeoutMs, graceMs: 5_000 });

describe('runChecks', () => {
  it('fails a check that never answers, and does not hold up the others', async () => {
    const checks = [check('hole', () => new Promise<Outcome>(() => {})), check('fine', async () => ok)];
    const kinds = (await runChecks(checks, { timeoutMs: 20, graceMs: 0 }, never())).map(({ outcome }) => outcome.kind);
    expect(kinds).toEqual(['fail', 'ok']);
  });

  it('skips what needs a failed check, and what needs that, with the reason', async () => {
    const refuse = async (): Promise<Outcome> => {
      throw new ServingError('KAFKA_UNAVAILABLE', 'no broker');
    };
    const checks = [check('a', refuse), check('b', async () => ok, ['a']), check('c', async () => ok, ['b'])];
    const [a, b, c] = (await runChecks(checks, within(1_000), never())).map(({ outcome }) => outcome);
    expect(a).toMatchObject({ kind: 'fail', found: 'KAFKA_UNAVAILABLE: no broker' });
    expect(b).toEqual({ kind: 'skipped', why: 'a failed' });
    expect(c).toEqual({ kind: 'skipped', why: 'b was not checked' });
  });

  it('never shows the message of a foreign error', async () => {
    const leak = async (): Promise<Outcome> => {
      throw new Error('password=hunter2');
    };
    expect(JSON.stringify(await runChecks([check('a', leak)], within(1_000), never()))).not.toContain('hunter2');
  });

  it('rejects when it is interrupted', async () => {
    const stop = new AbortController();
    const ran = runChecks(
      [check('hole', () => new Promise<Outcome>(() => {}))],
      { timeoutMs: 60_000, graceMs: 0 },
      stop.signal,
    );
    stop.abort();
    await expect(ran).rejects.toThrow();
  });

  it('waits for what a check takes back, when it is interrupted and when its time is over', async () => {
    const tidy = (taken: string[]) =>
      check(
        'tidy',
        (signal) =>
          new Promise<Outcome>((resolve) => {
            const takeBack = () =>
              setImmediate(() => {
                taken.push('back');
                resolve(ok);
              });
            signal.addEventListener('abort', takeBack, { once: true });
          }),
      );
    const late: string[] = [];
    const [outcome] = await runChecks([tidy(late)], within(20), never());
    expect([outcome?.outcome.kind, late]).toEqual(['fail', ['back']]);

    const stopped: string[] = [];
    const stop = new AbortController();
    const refuse = check('refuses', () => Promise.reject(new ServingError('KAFKA_UNAVAILABLE', 'away')));
    const ran = runChecks([refuse, tidy(stopped)], within(60_000), stop.signal);
    setImmediate(() => stop.abort());
    await expect(ran).rejects.toThrow();
    expect(stopped).toEqual(['back']);
  });

  it('refuses a name in `after` that stands for no earlier check', async () => {
    const misspelt = [check('model', async () => ok), check('room', async () => ok, ['modle'])];
    await expect(runChecks(misspelt, within(1_000), never())).rejects.toThrow('room comes after modle');
  });
});
