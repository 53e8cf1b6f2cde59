import { describe, expect, it } from 'vitest';
import { VramGuard, type VramLimits } from '../../../../src/ops/vram/guard.ts';
import { readVram } from '../../../../src/ops/vram/reading.ts';
import { type Card, GIB, tritonMetrics } from './expositions.ts';

const LIMITS: VramLimits = { capacityBytes: 24 * GIB, maxUtilization: 0.85, maxStaticBytes: 20 * GIB };
const CARD = 24 * GIB;

/** Readings at intervals of five seconds, each from a text of Triton's; a string is the text itself. */
class Watched {
  readonly guard: VramGuard;
  #nowMs = 0;

  constructor(limits: Partial<VramLimits> = {}) {
    this.guard = new VramGuard({ ...LIMITS, ...limits });
  }

  look(cards: readonly Card[] | string, statisticsBytes?: number) {
    this.#nowMs += 5_000;
    const text = typeof cards === 'string' ? cards : tritonMetrics(...cards);
    return this.guard.look(readVram(text), statisticsBytes, this.#nowMs);
  }

  used(share: number) {
    return this.look([{ used: share * CARD, total: CARD }]);
  }
}

describe('VramGuard: utilization', () => {
  it('is not over at the limit and over above it', () => {
    const watched = new Watched();
    expect(watched.used(0.85)).toMatchObject({ state: 'ok', reason: null, utilization: 0.85 });
    expect(watched.guard.ok).toBe(true);
    expect(watched.used(0.8501)).toMatchObject({ state: 'over_utilization' });
    expect(watched.guard.ok).toBe(false);
    expect(watched.guard.status.reason).toBe('85.0 % of GPU memory is used, at most 85.0 % may be');
  });

  it('does not flap around the limit: well again only at 95 % of it', () => {
    const watched = new Watched();
    const states = [0.84, 0.86, 0.849, 0.851, 0.82, 0.808, 0.8, 0.849, 0.851].map((share) => watched.used(share).state);
    const over = 'over_utilization';
    expect(states).toEqual(['ok', over, over, over, over, over, 'ok', 'ok', over]);
  });

  it('the worst of several cards counts', () => {
    const watched = new Watched();
    const status = watched.look([
      { uuid: 'GPU-a', used: 2 * GIB, total: CARD },
      { uuid: 'GPU-b', used: 23 * GIB, total: CARD },
    ]);
    expect(status).toMatchObject({ state: 'over_utilization', utilization: 23 / 24 });
    expect(status.gpus.map(({ gpu }) => gpu)).toEqual(['GPU-a', 'GPU-b']);
  });

  it('a card that is smaller than the capacity that is set counts by its own size, and the setting is named', () => {
    const status = new Watched({ capacityBytes: 48 * GIB }).look([{ used: 21 * GIB, total: CARD }]);
    expect(status).toMatchObject({ state: 'over_utilization', utilization: 21 / 24 });
    expect(status.reason).toContain('RAG_SERVING_VRAM_CAPACITY_BYTES is more than the card has (24.0 GiB)');
  });

  it('a card that says a little less than its name is no fault of the setting', () => {
    expect(new Watched().look([{ used: GIB, total: 22.5 * GIB }])).toMatchObject({ state: 'ok', reason: null });
  });

  it('of a larger card only the capacity that is set may be used', () => {
    expect(new Watched().look([{ used: 40 * GIB, total: 80 * GIB }])).toMatchObject({
      state: 'over_utilization',
      utilization: 40 / 24,
    });
  });
});

describe('VramGuard: what is held for good', () => {
  const big = { capacityBytes: 80 * GIB };
  const card = (used: number) => [{ used, total: 80 * GIB }];

  it('is what the models say, where they say it', () => {
    const watched = new Watched(big);
    expect(watched.look(card(30 * GIB), 20 * GIB)).toMatchObject({ state: 'ok', staticSource: 'statistics' });
    expect(watched.look(card(30 * GIB), 20 * GIB + 1)).toMatchObject({
      state: 'over_static',
      staticBytes: 20 * GIB + 1,
    });
    expect(watched.guard.ok).toBe(false);
    expect(watched.look(card(30 * GIB), 19.5 * GIB).state).toBe('over_static');
    expect(watched.look(card(30 * GIB), 18.9 * GIB).state).toBe('ok');
  });

  it('is the least that was in use lately, where they say nothing', () => {
    const watched = new Watched(big);
    expect(watched.look(card(22 * GIB))).toMatchObject({ state: 'ok', staticBytes: null, staticSource: null });
    for (let i = 0; i < 23; i++) expect(watched.look(card(40 * GIB)).state).toBe('ok');
    expect(watched.look(card(40 * GIB))).toMatchObject({
      state: 'over_static',
      staticBytes: 22 * GIB,
      staticSource: 'floor',
      reason: 'models hold 22.0 GiB for good, at most 20.0 GiB may be',
    });
    expect(watched.look(card(12 * GIB), 0)).toMatchObject({
      state: 'ok',
      staticBytes: 12 * GIB,
      staticSource: 'floor',
    });
  });

  it('rises with models that are loaded later, once the window has passed', () => {
    const watched = new Watched(big);
    watched.look(card(4 * GIB));
    for (let i = 0; i < 119; i++) expect(watched.look(card(30 * GIB)).state).toBe('ok');
    for (let i = 0; i < 2; i++) watched.look(card(30 * GIB));
    expect(watched.guard.status).toMatchObject({ state: 'over_static', staticBytes: 30 * GIB });
  });
});

describe('VramGuard: what cannot be known (M03)', () => {
  const blind = [
    ['no GPU, or MIG', tritonMetrics(), 'no_gpu_metrics'],
    ['a page', '<html>Log in</html>', 'unreachable'],
    ['NaN', tritonMetrics({ used: 'NaN', total: 'NaN' }), 'invalid_metrics'],
    ['a total of zero', tritonMetrics({ used: 0, total: 0 }), 'invalid_metrics'],
  ] as const;

  it.each(blind)(
    '%s is a state of its own, neither zero nor full, and does not hold readiness back',
    (_name, text, state) => {
      const watched = new Watched();
      for (let i = 0; i < 20; i++) {
        expect(watched.look(text)).toMatchObject({ state, utilization: null, staticBytes: null });
        expect(watched.guard.ok).toBe(true);
      }
      expect(watched.guard.status.reason).not.toBeNull();
    },
  );

  it.each(blind)('%s after "full" is full still, for three readings', (_name, text, state) => {
    const watched = new Watched();
    watched.used(0.9);
    for (let i = 0; i < 3; i++) {
      expect(watched.look(text)).toMatchObject({ state: 'over_utilization', utilization: 0.9 });
      expect(watched.guard.status.reason).toContain('it was full when last seen');
    }
    expect(watched.look(text).state).toBe(state);
    expect(watched.guard.ok).toBe(true);
    // And what was full before is judged anew.
    expect(watched.used(0.84).state).toBe('ok');
  });

  it('a blind card beside one that is seen is named, and the other is judged', () => {
    const status = new Watched().look([
      { uuid: 'GPU-a', used: 23 * GIB, total: CARD },
      { uuid: 'GPU-b', used: 'NaN', total: CARD },
    ]);
    expect(status.state).toBe('over_utilization');
    expect(status.reason).toContain('no usable numbers of GPU-b');
    expect(status.gpus[1]).toEqual({
      gpu: 'GPU-b',
      usedBytes: null,
      totalBytes: null,
      utilization: null,
      staticBytes: null,
    });
  });

  it('readings that come and go do not make readiness flap', () => {
    const watched = new Watched();
    const oks: boolean[] = [];
    for (let i = 0; i < 40; i++) {
      watched.look(i % 2 === 0 ? [{ used: 0.9 * CARD, total: CARD }] : tritonMetrics());
      oks.push(watched.guard.ok);
    }
    expect(new Set(oks)).toEqual(new Set([false]));
  });

  it('before the first reading nothing is claimed', () => {
    expect(new VramGuard(LIMITS).status).toMatchObject({ state: 'not_checked', reason: 'not checked yet' });
  });
});
