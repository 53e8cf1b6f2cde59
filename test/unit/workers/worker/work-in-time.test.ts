import { describe, expect, it } from 'vitest';
import { systemClock } from '../../../../src/clock.ts';
import { PaceBoard } from '../../../../src/lifecycle/pace.ts';
import type { EmbedTransport } from '../../../../src/pipeline/transport.ts';
import { MemorySink } from '../../../../src/sinks/memory/sink.ts';
import { WorkInTime } from '../../../../workers/worker/work-in-time.ts';

/** Calls that end when told. */
class HandTransport implements EmbedTransport {
  readonly #ends: (() => void)[] = [];
  calls = 0;

  embed(): ReturnType<EmbedTransport['embed']> {
    this.calls += 1;
    return new Promise((resolve) => this.#ends.push(() => resolve({ vectors: new Uint8Array(), transport: 'inline' })));
  }

  endAll(): void {
    for (const end of this.#ends.splice(0)) end();
  }
}

function world(isRepeating = () => false) {
  const clock = { now: 0, monotonicMs: () => clock.now, wallMs: () => clock.now };
  const board = new PaceBoard();
  const work = new WorkInTime({ clock, board, isRepeating });
  const inner = new HandTransport();
  const stopped = new AbortController();
  const transport = work.transport(inner);
  return { clock, board, work, inner, stopped, embed: () => transport.embed(['a'], undefined, stopped.signal) };
}

const aborted = (signal: AbortSignal) =>
  new Promise<void>((resolve) =>
    signal.aborted ? resolve() : signal.addEventListener('abort', () => resolve(), { once: true }),
  );

describe('WorkInTime', () => {
  it('measures calls of the model server and writes to the store', async () => {
    const { clock, board, inner, embed, work } = world();
    const call = embed();
    clock.now = 400;
    inner.endAll();
    await call;
    const sink = work.sink(new MemorySink({}, clock));
    await sink.open({ modelName: 'm', fingerprint: 'f', dims: 4, dtype: 'FP16', maxBatch: 8 });
    const write = sink.write([]);
    clock.now = 450;
    expect(await write).toEqual([]);
    expect(board.pace).toEqual({ batchMs: 400, storeMs: 50, commitMs: undefined });
  });

  it('begins nothing that would be too late; says so when only that is left; lets go when the drain ends', async () => {
    const { clock, board, work, inner, stopped, embed } = world();
    board.batch.add(1_000);
    board.store.add(100);
    const early = embed();
    const nothingLeft = work.limit(() => 2_000);
    clock.now = 899;
    const fits = embed();
    clock.now = 900;
    const late = embed();
    expect(inner.calls).toBe(2);
    let ended = false;
    void late.catch(() => (ended = true));
    inner.endAll();
    await Promise.all([early, fits]);
    expect(nothingLeft.aborted).toBe(false);
    await aborted(nothingLeft);
    expect(ended).toBe(false);
    const reason = new Error('the drain is over');
    stopped.abort(reason);
    await expect(late).rejects.toBe(reason);
    expect(inner.calls).toBe(2);
  });

  it('a limit that comes nearer holds what fitted before', async () => {
    const { board, work, inner, stopped, embed } = world();
    board.batch.add(1_000);
    let limitAt = 5_000;
    work.limit(() => limitAt);
    void embed();
    limitAt = 500;
    const held = embed();
    expect(inner.calls).toBe(1);
    stopped.abort(new Error('over'));
    await expect(held).rejects.toThrow('over');
  });

  it('a write that is to be repeated is waited for', async () => {
    let repeating = true;
    const { board, work, embed } = world(() => repeating);
    board.batch.add(1_000);
    const nothingLeft = work.limit(() => 500);
    void embed().catch(() => {});
    const told = await Promise.race([
      aborted(nothingLeft).then(() => true),
      new Promise((resolve) => setTimeout(resolve, 600, false)),
    ]);
    expect(told).toBe(false);
    repeating = false;
    await aborted(nothingLeft);
  });

  it('a transport that fails is not measured, and not counted as running', async () => {
    const board = new PaceBoard();
    const work = new WorkInTime({ clock: systemClock, board, isRepeating: () => false });
    let calls = 0;
    const transport = work.transport({
      embed: async () => {
        calls += 1;
        throw new Error('away');
      },
    });
    await expect(transport.embed(['a'], undefined, new AbortController().signal)).rejects.toThrow('away');
    expect([calls, board.pace.batchMs]).toEqual([1, undefined]);
    board.batch.add(60_000);
    const nothingLeft = work.limit(() => systemClock.monotonicMs() + 1_000);
    void transport.embed(['a'], undefined, new AbortController().signal).catch(() => {});
    await aborted(nothingLeft);
    expect(calls).toBe(1);
  });
});
