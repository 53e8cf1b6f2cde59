import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { RejoinHold } from '../../../src/kafka/rejoin-hold.ts';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

function setUp(holdMs: number, commit: () => Promise<void> = async () => {}) {
  const calls: string[] = [];
  const work = { idle: false };
  const hold = new RejoinHold({
    holdMs,
    isIdle: () => work.idle,
    commit: async () => {
      calls.push('commit');
      await commit();
    },
    flush: () => void calls.push('flush'),
  });
  const heartbeat = vi.fn(async () => true);
  return { hold, calls, work, heartbeat };
}

describe('RejoinHold', () => {
  it('lets go as soon as nothing is in flight, with all of it committed', async () => {
    const { hold, calls, work, heartbeat } = setUp(2_000);
    const held = hold.run(heartbeat);
    await vi.advanceTimersByTimeAsync(700);
    expect(hold.isHolding).toBe(true);
    hold.noteSettled();
    await vi.advanceTimersByTimeAsync(0);
    expect(hold.isHolding, 'more is in flight').toBe(true);
    work.idle = true;
    hold.noteSettled();
    await vi.advanceTimersByTimeAsync(0);
    expect(await held).toEqual({ heldMs: 700, committed: true });
    expect(calls).toEqual(['flush', 'commit']);
    expect(hold.isHolding).toBe(false);
  });

  it('waits no longer than its time, keeps the session alive, and commits what is done by then', async () => {
    const { hold, calls, heartbeat } = setUp(2_000);
    const held = hold.run(heartbeat);
    await vi.advanceTimersByTimeAsync(2_000);
    expect(await held).toEqual({ heldMs: 2_000, committed: true });
    expect(heartbeat).toHaveBeenCalledTimes(4);
    expect(calls).toEqual(['flush', 'commit']);
  });

  it('with nothing in flight costs one commit', async () => {
    const { hold, calls, work, heartbeat } = setUp(2_000);
    work.idle = true;
    expect(await hold.run(heartbeat)).toEqual({ heldMs: 0, committed: true });
    expect(heartbeat).not.toHaveBeenCalled();
    expect(calls).toEqual(['flush', 'commit']);
  });

  it('of no time sends a commit and joins at once', async () => {
    const { hold, calls, heartbeat } = setUp(0);
    expect(await hold.run(heartbeat)).toEqual({ heldMs: 0, committed: false });
    expect(calls).toEqual(['flush']);
  });

  it('ends when the membership is gone: no commit would count', async () => {
    const { hold, calls, heartbeat } = setUp(2_000);
    heartbeat.mockResolvedValue(false);
    expect(await hold.run(heartbeat)).toEqual({ heldMs: 0, committed: false });
    expect(calls).toEqual(['flush']);
  });

  it('ends when a heartbeat is not answered', async () => {
    const { hold, heartbeat } = setUp(2_000);
    heartbeat.mockReturnValue(new Promise(() => {}));
    const held = hold.run(heartbeat);
    await vi.advanceTimersByTimeAsync(2_000);
    expect(await held).toEqual({ heldMs: 2_000, committed: false });
  });

  it('ends, and holds nothing again, when the source closes', async () => {
    const { hold, calls, heartbeat } = setUp(2_000);
    const held = hold.run(heartbeat);
    await vi.advanceTimersByTimeAsync(100);
    hold.cancel();
    await vi.advanceTimersByTimeAsync(0);
    expect(await held).toEqual({ heldMs: 100, committed: false });
    expect(await hold.run(heartbeat)).toEqual({ heldMs: 0, committed: false });
    expect(calls).toEqual(['flush', 'flush']);
  });

  it('joins again although the commit fails', async () => {
    const { hold, work, heartbeat } = setUp(2_000, () => Promise.reject(new Error('refused')));
    work.idle = true;
    expect(await hold.run(heartbeat)).toEqual({ heldMs: 0, committed: false });
  });
});
