/** When the sidecar checks a model, and what /ready says meanwhile. */
import { describe, expect, it } from 'vitest';
import { GoldenGate, type Seen } from '../../../src/golden/gate.ts';
import { readInferenceCounts } from '../../../src/ops/model-server/inference-counts.ts';

const EQUAL = { outcome: 'equal', reasons: [] } as const;
const counts = (count: number) => new Map([['m', count]]);
const seen = (count?: number, more: Partial<Seen> = {}): Seen => ({
  ...{ answers: true, fingerprint: 'f' },
  inferences: count === undefined ? undefined : counts(count),
  ...more,
});
const AWAY: Seen = { answers: false, fingerprint: undefined, inferences: undefined };

function passed(first: Seen = seen(5)): GoldenGate {
  const gate = new GoldenGate();
  expect(gate.see(first)).toBe(true);
  gate.ended(gate.started(), EQUAL);
  expect(gate.result.state).toBe('pass');
  return gate;
}

describe('the golden gate', () => {
  it('fails until the model answers, while it is checked, and passes for good', () => {
    const gate = new GoldenGate();
    expect(gate.see(AWAY)).toBe(false);
    expect(gate.result).toEqual({ state: 'fail', reason: 'not checked yet' });
    expect(gate.see(seen(1))).toBe(true);
    const load = gate.started();
    expect(gate.see(seen(2))).toBe(false);
    expect(gate.result).toEqual({ state: 'fail', reason: 'is being checked' });
    gate.ended(load, EQUAL);
    expect(gate.see(seen(3))).toBe(false);
    expect(gate.result).toEqual({ state: 'pass', reason: undefined });
  });

  it('what could not be checked is tried at the next look, with its reason meanwhile', () => {
    const gate = new GoldenGate();
    gate.see(seen(1));
    gate.ended(gate.started(), { outcome: 'unchecked', reasons: ['too busy', 'and more'] });
    expect(gate.result).toEqual({ state: 'fail', reason: 'too busy' });
    expect(gate.see(seen(2))).toBe(true);
  });

  it('what differs is not asked again before the model is loaded anew', () => {
    const gate = new GoldenGate();
    gate.see(seen(100));
    gate.ended(gate.started(), { outcome: 'differs', reasons: ['x'.repeat(1_000)] });
    expect(gate.see(seen(101))).toBe(false);
    expect(gate.result).toEqual({ state: 'fail', reason: 'x'.repeat(300) });
    expect(gate.see(seen(1))).toBe(true);
  });

  const reloads: { name: string; looks: Seen[] }[] = [
    { name: 'counts that begin anew', looks: [seen(1)] },
    { name: 'counts that begin anew after a look without any', looks: [seen(undefined), seen(1)] },
    { name: 'another fingerprint', looks: [seen(9, { fingerprint: 'g' })] },
    { name: 'a server that was away', looks: [AWAY, seen(undefined)] },
    { name: 'a model that was gone from the counts', looks: [seen(0, { inferences: new Map() }), seen(7)] },
    {
      name: 'a step of the ensemble that began anew',
      looks: [
        seen(9, {
          inferences: new Map([
            ['m', 9],
            ['step', 0],
          ]),
        }),
      ],
    },
  ];
  for (const { name, looks } of reloads) {
    it(`is due again after ${name}`, () => {
      const gate = passed(
        seen(5, {
          inferences: new Map([
            ['m', 5],
            ['step', 5],
          ]),
        }),
      );
      const due = looks.map((look) => gate.see(look));
      expect(due.at(-1)).toBe(true);
      expect(gate.result).toMatchObject({ state: 'fail', reason: expect.stringContaining('loaded anew') });
    });
  }

  const same: { name: string; looks: Seen[] }[] = [
    { name: 'counts that grow', looks: [seen(6), seen(1_000)] },
    { name: 'counts that stand still', looks: [seen(5)] },
    { name: 'a look that it did not answer, when the counts go on', looks: [seen(6, { answers: false }), seen(7)] },
    { name: 'a look without a description', looks: [seen(6, { fingerprint: undefined }), seen(7)] },
    { name: 'another model that is gone', looks: [seen(6, { inferences: counts(6) })] },
  ];
  for (const { name, looks } of same) {
    it(`is not due again after ${name}`, () => {
      const gate = passed(
        seen(5, {
          inferences: new Map([
            ['m', 5],
            ['gone', 5],
          ]),
        }),
      );
      expect(looks.map((look) => gate.see(look)).at(-1)).toBe(false);
      expect(gate.result.state).toBe('pass');
    });
  }

  it('a check of a model that was loaded anew meanwhile counts for nothing', () => {
    const gate = new GoldenGate();
    gate.see(seen(50));
    const load = gate.started();
    expect(gate.see(seen(1))).toBe(true);
    gate.ended(load, EQUAL);
    expect(gate.result.state).toBe('fail');
  });
});

describe('readInferenceCounts', () => {
  it('sums the versions of a model; a model that says nothing has none', () => {
    const stats = [
      { name: 'a', version: '1', inference_count: 2 },
      { name: 'a', version: '2', inference_count: '3' },
      { name: 'b', version: '1' },
    ];
    expect(readInferenceCounts({ model_stats: stats })).toEqual(
      new Map([
        ['a', 5],
        ['b', 0],
      ]),
    );
  });
  it.each([undefined, null, 7, {}, { model_stats: [{}] }, { model_stats: [{ name: 'a', inference_count: -1 }] }])(
    'gives nothing for %j',
    (answer) => expect(readInferenceCounts(answer)).toBeUndefined(),
  );
});
