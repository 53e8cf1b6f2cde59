import { describe, expect, it } from 'vitest';
import { Permits } from '../../../src/resilience/permits.ts';

describe('Permits', () => {
  it('never grants more than the limit and serves waiters in order', async () => {
    const permits = new Permits(2);
    const order: number[] = [];
    const release = await permits.acquire();
    await permits.acquire();
    const third = permits.acquire().then((give) => {
      order.push(3);
      return give;
    });
    const fourth = permits.acquire().then((give) => {
      order.push(4);
      return give;
    });
    expect([permits.held, permits.waiting]).toEqual([2, 2]);
    release();
    (await third)();
    await fourth;
    expect(order).toEqual([3, 4]);
    expect(permits.held).toBe(2);
  });

  it('a permit given back twice counts once', async () => {
    const permits = new Permits(1);
    const release = await permits.acquire();
    release();
    release();
    await permits.acquire();
    expect(permits.held).toBe(1);
  });

  it('an aborted waiter leaves the queue and takes nothing', async () => {
    const permits = new Permits(1);
    const release = await permits.acquire();
    const abort = new AbortController();
    const waiting = permits.acquire(abort.signal);
    abort.abort(new Error('given up'));
    await expect(waiting).rejects.toThrow('given up');
    expect(permits.waiting).toBe(0);
    release();
    expect(permits.held).toBe(0);
  });

  it('refuses at once when the signal is aborted already', async () => {
    await expect(new Permits(1).acquire(AbortSignal.abort(new Error('too late')))).rejects.toThrow('too late');
  });
});
