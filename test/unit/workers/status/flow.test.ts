import { describe, expect, it } from 'vitest';
import { type Eta, etaOf, type Flow, FlowWindow } from '../../../../workers/status/flow.ts';

type One = { partition: number; low: bigint; end: bigint; committed: bigint | undefined };
const at = (committed: bigint | undefined, end: bigint, partition = 0, low = 0n): One => ({
  partition,
  low,
  end,
  committed,
});

function flowOf(...looks: readonly (readonly [atMs: number, ...offsets: One[]])[]): Flow | undefined {
  const window = new FlowWindow(60_000);
  for (const [atMs, ...offsets] of looks) window.add(offsets, atMs);
  return window.flow;
}

describe('FlowWindow', () => {
  it('one look is no speed', () => {
    expect(flowOf([0, at(5n, 10n)])).toBeUndefined();
  });

  const cases: [name: string, looks: (readonly [number, ...One[]])[], committed: number, arrived: number][] = [
    [
      'both rates',
      [
        [0, at(0n, 100n)],
        [2_000, at(50n, 120n)],
      ],
      25,
      10,
    ],
    [
      'partitions together',
      [
        [0, at(0n, 9n), at(0n, 9n, 1)],
        [1_000, at(3n, 9n), at(4n, 9n, 1)],
      ],
      7,
      0,
    ],
    [
      'a first commit counts from the oldest record',
      [
        [0, at(undefined, 100n, 0, 40n)],
        [1_000, at(70n, 100n, 0, 40n)],
      ],
      30,
      0,
    ],
    [
      'what is deleted before anybody reads it is not committed',
      [
        [0, at(undefined, 100n)],
        [1_000, at(undefined, 100n, 0, 60n)],
      ],
      0,
      0,
    ],
    [
      'a partition that is new does not count yet',
      [
        [0, at(0n, 10n)],
        [1_000, at(5n, 10n), at(900n, 900n, 1)],
      ],
      5,
      0,
    ],
    [
      'a group that is moved back begins again',
      [
        [0, at(90n, 100n)],
        [1_000, at(10n, 100n)],
        [2_000, at(20n, 100n)],
      ],
      10,
      0,
    ],
    [
      'so does a commit that is gone',
      [
        [0, at(90n, 100n)],
        [1_000, at(undefined, 100n)],
        [2_000, at(20n, 100n)],
      ],
      20,
      0,
    ],
    [
      'so does a topic that is made anew',
      [
        [0, at(undefined, 100n)],
        [1_000, at(undefined, 4n)],
        [2_000, at(undefined, 9n)],
      ],
      0,
      5,
    ],
    [
      'the window forgets',
      [
        [0, at(0n, 0n)],
        [60_000, at(600n, 0n)],
        [120_000, at(600n, 0n)],
      ],
      0,
      0,
    ],
  ];
  for (const [name, looks, committedPerSecond, arrivedPerSecond] of cases) {
    it(name, () => {
      expect(flowOf(...looks)).toMatchObject({ committedPerSecond, arrivedPerSecond });
    });
  }

  it('after a step back alone nothing is known', () => {
    expect(flowOf([0, at(90n, 100n)], [1_000, at(10n, 100n)])).toBeUndefined();
  });

  it('without a window there is still what was between the last two looks', () => {
    const window = new FlowWindow(0);
    for (const n of [0, 1, 2]) window.add([at(BigInt(n * n), 9n)], n * 1_000);
    expect(window.flow).toEqual({ committedPerSecond: 3, arrivedPerSecond: 0, overMs: 1_000 });
  });

  it('two looks at the same moment are no speed', () => {
    expect(flowOf([5, at(1n, 2n)], [5, at(2n, 2n)])).toBeUndefined();
  });
});

describe('etaOf', () => {
  const flow = (committedPerSecond: number, arrivedPerSecond: number): Flow => ({
    committedPerSecond,
    arrivedPerSecond,
    overMs: 1_000,
  });
  const cases: [name: string, lag: bigint, flow: Flow | undefined, eta: Eta][] = [
    ['nothing left', 0n, flow(0, 9), { kind: 'caught-up' }],
    ['nothing left, nothing measured', 0n, undefined, { kind: 'caught-up' }],
    ['not measured', 5n, undefined, { kind: 'unknown' }],
    ['nothing arrives', 100n, flow(50, 0), { kind: 'in', ms: 2_000 }],
    ['what arrives takes its share', 100n, flow(50, 40), { kind: 'in', ms: 10_000 }],
    ['as much arrives', 100n, flow(50, 50), { kind: 'never' }],
    ['it stands still', 100n, flow(0, 0), { kind: 'never' }],
  ];
  for (const [name, lag, measured, eta] of cases) it(name, () => expect(etaOf(lag, measured)).toEqual(eta));
});
