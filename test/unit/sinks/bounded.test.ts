import { describe, expect, it } from 'vitest';
import { bounded, throwIfAborted } from '../../../src/sinks/bounded.ts';

const never = new Promise<never>(() => undefined);

describe('bounded', () => {
  it('passes on the answer or the error of the work', async () => {
    expect(await bounded(Promise.resolve(7), 1_000, 'write')).toBe(7);
    await expect(bounded(Promise.reject(new Error('own')), 1_000, 'write')).rejects.toThrow('own');
  });

  it('rejects at its limit as an outage of unknown outcome', async () => {
    await expect(bounded(never, 5, 'write')).rejects.toMatchObject({
      code: 'SINK_UNAVAILABLE',
      message: expect.stringMatching(/write: no answer within 5 ms.*unknown/),
    });
  });

  it('rejects when the caller gives up, before or while it waits', async () => {
    await expect(bounded(never, 60_000, 'write', AbortSignal.abort())).rejects.toMatchObject({
      code: 'SINK_UNAVAILABLE',
    });
    const controller = new AbortController();
    const waiting = bounded(never, 60_000, 'write', controller.signal);
    controller.abort();
    await expect(waiting).rejects.toMatchObject({ code: 'SINK_UNAVAILABLE' });
  });

  it('throwIfAborted lets a live caller through', () => {
    expect(() => throwIfAborted(undefined, 'write')).not.toThrow();
    expect(() => throwIfAborted(new AbortController().signal, 'write')).not.toThrow();
    expect(() => throwIfAborted(AbortSignal.abort(), 'write')).toThrow(/before it began/);
  });
});
