import { describe, expect, it } from 'vitest';
import { ServingError } from '../../../src/errors.ts';
import type { Check, Outcome } from '../../../workers/doctor/check.ts';
import { runChecks } from '../../../workers/doctor/run-checks.ts';

const ok: Outcome = { kind: 'ok', found: 'there' };
const check = (name: string, look: Check['look'], after: readonly string[] = []): Check => ({
  name,
  group: 'g',
  after,
  look,
});
const never = () => new AbortController().signal;

describe('runChecks', () => {
  it('fails a check that never answers, and does not hold up the others', async () => {
    const checks = [check('hole', () => new Promise<Outcome>(() => {})), check('fine', async () => ok)];
    const kinds = (await runChecks(checks, 20, never())).map(({ outcome }) => outcome.kind);
    expect(kinds).toEqual(['fail', 'ok']);
  });

  it('skips what needs a failed check, and what needs that, with the reason', async () => {
    const refuse = async (): Promise<Outcome> => {
      throw new ServingError('KAFKA_UNAVAILABLE', 'no broker');
    };
    const checks = [check('a', refuse), check('b', async () => ok, ['a']), check('c', async () => ok, ['b'])];
    const [a, b, c] = (await runChecks(checks, 1_000, never())).map(({ outcome }) => outcome);
    expect(a).toMatchObject({ kind: 'fail', found: 'KAFKA_UNAVAILABLE: no broker' });
    expect(b).toEqual({ kind: 'skipped', why: 'a failed' });
    expect(c).toEqual({ kind: 'skipped', why: 'b was not checked' });
  });

  it('never shows the message of a foreign error', async () => {
    const leak = async (): Promise<Outcome> => {
      throw new Error('password=hunter2');
    };
    expect(JSON.stringify(await runChecks([check('a', leak)], 1_000, never()))).not.toContain('hunter2');
  });

  it('rejects when it is interrupted', async () => {
    const stop = new AbortController();
    const ran = runChecks([check('hole', () => new Promise<Outcome>(() => {}))], 60_000, stop.signal);
    stop.abort();
    await expect(ran).rejects.toThrow();
  });
});
