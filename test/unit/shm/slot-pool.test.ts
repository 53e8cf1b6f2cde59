import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { isServingError } from '../../../src/errors.ts';
import { type SlotLease, SlotPool } from '../../../src/shm/slot-pool.ts';

const patient = new AbortController().signal;

describe('SlotPool', () => {
  beforeEach(() => {
    vi.useFakeTimers();
  });
  afterEach(() => {
    vi.useRealTimers();
  });

  it('serves waiters in the order of coming', async () => {
    const pool = new SlotPool({ slots: 1, quarantineMs: 1_000 });
    const first = await pool.acquire(patient);
    const served: string[] = [];
    const waiters = ['a', 'b', 'c'].map(async (name) => {
      const lease = await pool.acquire(patient);
      served.push(name);
      lease.release();
    });
    expect(pool.waiting).toBe(3);
    first.release();
    await Promise.all(waiters);
    expect(served).toEqual(['a', 'b', 'c']);
    expect(pool.counts).toEqual({ free: 1, leased: 0, quarantined: 0 });
  });

  it('lets nobody overtake who waits when quarantined slots come back', async () => {
    const pool = new SlotPool({ slots: 1, quarantineMs: 10 });
    (await pool.acquire(patient)).quarantine('deadline');
    const waiter = pool.acquire(patient);
    expect(pool.reclaimQuarantined()).toBe(1);
    expect(pool.tryAcquire()).toBeUndefined();
    expect((await waiter).index).toBe(0);
  });

  it('ends a lease exactly once', async () => {
    const pool = new SlotPool({ slots: 2, quarantineMs: 1_000 });
    const lease = await pool.acquire(patient);
    expect(lease.release()).toBe(true);
    const again = await pool.acquire(patient);
    expect(again.index).toBe(lease.index);
    expect(lease.release()).toBe(false);
    expect(lease.quarantine('deadline')).toBe(false);
    expect(pool.counts).toEqual({ free: 1, leased: 1, quarantined: 0 });
  });

  it('keeps a slot without an answer out of use, however long it rests, till the region was registered anew', async () => {
    const onQuarantine = vi.fn();
    const pool = new SlotPool({ slots: 1, quarantineMs: 1_000, onQuarantine });
    const lease = await pool.acquire(patient);
    lease.quarantine('disconnected');
    expect(onQuarantine).toHaveBeenCalledExactlyOnceWith(0, 'disconnected');
    expect(lease.release()).toBe(false);
    expect(pool.counts).toEqual({ free: 0, leased: 0, quarantined: 1 });
    vi.advanceTimersByTime(1_000_000);
    expect(pool.tryAcquire()).toBeUndefined();
    pool.reclaimQuarantined();
    expect(pool.tryAcquire()?.index).toBe(0);
  });

  it('wants the region registered anew when no slot is left that works', async () => {
    const pool = new SlotPool({ slots: 2, quarantineMs: 1_000 });
    const [a, b] = [await pool.acquire(patient), await pool.acquire(patient)];
    a.quarantine('deadline');
    expect(pool.wantsRegistration).toBe(false);
    b.quarantine('deadline');
    expect(pool.wantsRegistration).toBe(true);
    pool.reclaimQuarantined();
    expect(pool.wantsRegistration).toBe(false);
  });

  it('wants it also while others work, once a slot has rested for its time', async () => {
    const pool = new SlotPool({ slots: 2, quarantineMs: 1_000 });
    (await pool.acquire(patient)).quarantine('deadline');
    vi.advanceTimersByTime(999);
    expect(pool.wantsRegistration).toBe(false);
    vi.advanceTimersByTime(1);
    expect(pool.wantsRegistration).toBe(true);
  });

  it('hands quarantined slots to waiters when the region was registered anew', async () => {
    const pool = new SlotPool({ slots: 2, quarantineMs: 60_000 });
    (await pool.acquire(patient)).quarantine('deadline');
    (await pool.acquire(patient)).quarantine('cancelled');
    const waiter = pool.acquire(patient);
    expect(pool.reclaimQuarantined()).toBe(2);
    await waiter;
    expect(pool.counts).toEqual({ free: 1, leased: 1, quarantined: 0 });
  });

  it('forgets a waiter that gives up', async () => {
    const pool = new SlotPool({ slots: 1, quarantineMs: 1_000 });
    const lease = await pool.acquire(patient);
    const impatient = new AbortController();
    const givesUp = pool.acquire(impatient.signal);
    const stays = pool.acquire(patient);
    impatient.abort(new Error('drain'));
    await expect(givesUp).rejects.toMatchObject({ code: 'INFERENCE_CANCELLED', cause: new Error('drain') });
    lease.release();
    expect((await stays).index).toBe(0);
    expect(pool.waiting).toBe(0);
  });

  it('leases nothing to a caller that has given up before', async () => {
    const pool = new SlotPool({ slots: 1, quarantineMs: 1_000 });
    await expect(pool.acquire(AbortSignal.abort())).rejects.toMatchObject({ code: 'INFERENCE_CANCELLED' });
    expect(pool.counts.free).toBe(1);
  });

  it('rejects waiters and newcomers at close; leases that are out still end', async () => {
    const pool = new SlotPool({ slots: 1, quarantineMs: 1_000 });
    const lease = await pool.acquire(patient);
    const waiter = pool.acquire(patient);
    pool.close();
    await expect(waiter).rejects.toMatchObject({ code: 'INFERENCE_CANCELLED' });
    await expect(pool.acquire(patient)).rejects.toMatchObject({ code: 'INFERENCE_CANCELLED' });
    expect(lease.release()).toBe(true);
    expect(pool.counts).toEqual({ free: 1, leased: 0, quarantined: 0 });
    expect(vi.getTimerCount()).toBe(0);
  });
});

const SLOTS = 3;
const ops = fc.array(
  fc.record({
    kind: fc.constantFrom('wait', 'try', 'release', 'quarantine', 'release-again', 'give-up', 'reclaim'),
    pick: fc.nat({ max: 20 }),
  }),
  { maxLength: 80 },
);

describe('SlotPool, whatever happens', () => {
  it('never leases a slot twice, never while it is quarantined, and never loses one', async () => {
    await fc.assert(
      fc.asyncProperty(ops, async (steps) => {
        const pool = new SlotPool({ slots: SLOTS, quarantineMs: 50 });
        const held = new Map<number, SlotLease>();
        const ended: SlotLease[] = [];
        const unsafe = new Set<number>();
        const waiters: AbortController[] = [];
        const hold = (lease: SlotLease): void => {
          expect(held.has(lease.index)).toBe(false);
          expect(unsafe.has(lease.index)).toBe(false);
          held.set(lease.index, lease);
        };
        const end = (pick: number): SlotLease | undefined => {
          const lease = [...held.values()][pick % Math.max(held.size, 1)];
          if (lease === undefined) return undefined;
          held.delete(lease.index);
          ended.push(lease);
          return lease;
        };
        for (const { kind, pick } of steps) {
          if (kind === 'wait') {
            const patience = new AbortController();
            waiters.push(patience);
            pool
              .acquire(patience.signal)
              .then(hold, (error) => expect(isServingError(error, 'INFERENCE_CANCELLED')).toBe(true));
          } else if (kind === 'try') {
            const lease = pool.tryAcquire();
            if (lease !== undefined) hold(lease);
          } else if (kind === 'release') {
            end(pick)?.release();
          } else if (kind === 'quarantine') {
            const lease = end(pick);
            if (lease !== undefined) unsafe.add(lease.index);
            lease?.quarantine('deadline');
          } else if (kind === 'release-again') {
            expect(ended[pick % Math.max(ended.length, 1)]?.release() ?? false).toBe(false);
          } else if (kind === 'give-up') {
            waiters[pick % Math.max(waiters.length, 1)]?.abort();
          } else {
            unsafe.clear();
            pool.reclaimQuarantined();
          }
          await Promise.resolve();
          await Promise.resolve();
          await Promise.resolve();
          const { free, leased, quarantined } = pool.counts;
          expect(free + leased + quarantined).toBe(SLOTS);
          expect(leased).toBe(held.size);
          expect(free === 0 || pool.waiting === 0).toBe(true);
        }
        for (const patience of waiters) patience.abort();
        for (const lease of held.values()) lease.release();
        pool.reclaimQuarantined();
        const all = Array.from({ length: SLOTS + 1 }, () => pool.tryAcquire()?.index);
        expect(new Set(all)).toEqual(new Set([0, 1, 2, undefined]));
        pool.close();
      }),
      { numRuns: 300 },
    );
  });
});
