import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises';
import { afterEach, describe, expect, it } from 'vitest';
import { ServingError } from '../../../src/errors.ts';
import { type CommitAttempt, Committer } from '../../../src/kafka/committer.ts';
import { Partitions } from '../../../src/kafka/partitions.ts';
import { silentLog } from '../../../src/telemetry/log.ts';

const id = { topic: 't', partition: 0 };
let committer: Committer | undefined;
afterEach(() => committer?.stop());

/** A partition of which `done` messages from offset 0 on have ended. */
function setUp(
  attempt: CommitAttempt,
  options: {
    joined?: () => boolean;
    intervalMs?: number;
    threshold?: number;
    onAttempted?: (tookMs: number, error: ServingError | undefined) => void;
  } = {},
) {
  const partitions = new Partitions();
  partitions.assign([id]);
  partitions.beginsAt(id, 0n);
  partitions.brokerHolds(id, { offset: 0n, metadata: '' });
  const ledger = partitions.get(id)!.ledger!;
  const fatal: ServingError[] = [];
  committer = new Committer({
    partitions,
    attempt,
    canCommit: options.joined ?? (() => true),
    log: silentLog,
    intervalMs: options.intervalMs ?? 60_000,
    threshold: options.threshold ?? 1_000,
    onFatal: (error) => void fatal.push(error),
    onResult: () => {},
    onAttempted: options.onAttempted,
  });
  let next = 0n;
  const finish = (count: number) => {
    for (let i = 0; i < count; i++) {
      ledger.track(next);
      ledger.markDone(next);
      next += 1n;
      committer?.noteFinished();
    }
  };
  return { partitions, committer, fatal, finish };
}

describe('Committer', () => {
  it('commits by interval, and not again what is acknowledged', async () => {
    const sent: bigint[] = [];
    const run = setUp(async ([commit]) => void sent.push(commit!.offset), { intervalMs: 10 });
    run.committer.start();
    run.finish(3);
    await sleep(60);
    expect(sent).toEqual([3n]);
  });

  it('tells of every attempt how long it took and what became of it', async () => {
    const told: unknown[] = [];
    let broken = true;
    const attempt = async () => {
      if (broken) throw new Error('the coordinator is not there');
    };
    const onAttempted = (tookMs: number, error: ServingError | undefined) => void told.push([tookMs >= 0, error?.code]);
    const run = setUp(attempt, { onAttempted });
    run.finish(1);
    run.committer.flush();
    await nextTurn();
    broken = false;
    await run.committer.commit(AbortSignal.timeout(5_000));
    expect(told).toEqual([
      [true, 'KAFKA_UNAVAILABLE'],
      [true, undefined],
    ]);
  });

  it('commits early after enough messages', async () => {
    const sent: bigint[] = [];
    const run = setUp(async ([commit]) => void sent.push(commit!.offset), { threshold: 5 });
    run.finish(4);
    await nextTurn();
    expect(sent).toEqual([]);
    run.finish(1);
    await nextTurn();
    await nextTurn();
    expect(sent).toEqual([5n]);
  });

  it('has one commit under way at a time, and the next begins where the last ended', async () => {
    const sent: bigint[] = [];
    let release = () => {};
    const run = setUp(async ([commit]) => {
      sent.push(commit!.offset);
      await new Promise<void>((resolve) => {
        release = resolve;
      });
    });
    run.finish(1);
    const first = run.committer.commit(AbortSignal.timeout(5_000));
    await nextTurn();
    await nextTurn();
    run.finish(1);
    const second = run.committer.commit(AbortSignal.timeout(5_000));
    await sleep(20);
    expect(sent).toEqual([1n]);
    release();
    await first;
    await sleep(20);
    expect(sent).toEqual([1n, 2n]);
    release();
    await second;
  });

  it('tries again after a refusal, and resolves on the acknowledgement', async () => {
    let attempts = 0;
    const run = setUp(async () => {
      attempts += 1;
      if (attempts < 2) throw Object.assign(new Error('stale'), { type: 'ILLEGAL_GENERATION' });
    });
    run.finish(1);
    await run.committer.commit(AbortSignal.timeout(5_000));
    expect(attempts).toBe(2);
    expect(run.partitions.plan()).toEqual([]);
    expect(run.fatal).toEqual([]);
  });

  it('gives up with the last error when the signal aborts', async () => {
    const run = setUp(async () => {
      throw new ServingError('KAFKA_UNAVAILABLE', 'away');
    });
    run.finish(1);
    await expect(run.committer.commit(AbortSignal.timeout(50))).rejects.toMatchObject({
      code: 'KAFKA_UNAVAILABLE',
      message: 'away',
    });
    expect(run.partitions.plan()).toHaveLength(1);
  });

  it('waits for a membership, and ends in time without one', async () => {
    const run = setUp(async () => {}, { joined: () => false });
    run.finish(1);
    await expect(run.committer.commit(AbortSignal.timeout(50))).rejects.toMatchObject({ code: 'KAFKA_UNAVAILABLE' });
  });

  it('with nothing to commit resolves at once', async () => {
    const run = setUp(async () => {
      throw new Error('not to be called');
    });
    await run.committer.commit(AbortSignal.timeout(50));
  });

  it('reports missing rights as fatal', async () => {
    const run = setUp(async () => {
      throw Object.assign(new Error('no'), { type: 'GROUP_AUTHORIZATION_FAILED' });
    });
    run.finish(1);
    await expect(run.committer.commit(AbortSignal.timeout(20))).rejects.toThrow();
    expect(run.fatal[0]).toMatchObject({ code: 'KAFKA_ACCESS_DENIED' });
  });
});
