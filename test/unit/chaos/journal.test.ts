import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { type Blamed, countOf, type FaultSpan, readJournal, repeatedBy, sha256 } from '../../chaos/journal.ts';
import type { Effect, Fault } from '../../chaos/plan.ts';

const span = (fault: Fault, fromMs: number, untilMs: number): FaultSpan => ({ fault, fromMs, untilMs });
const twice = (a: number, b: number) => new Map([['text', [a, b]]]);
const once = new Map([['text', 1]]);
const kill = span('worker killed', 200, 300);

it.for([
  ['a kill between the two', [kill], 'worker killed'],
  ['a kill and a rebalance: the kill', [span('worker stopped', 150, 160), kill], 'worker killed'],
  ['a call that failed, executed late', [span('engine frozen', 10, 90)], 'engine frozen'],
  ['a group that missed a member after both', [span('worker killed', -5_000, -4_000)], 'rejoin'],
  ['a fault after both', [span('worker killed', 20_000, 30_000)], 'unexplained'],
  ['no fault', [], 'unexplained'],
] as const)('a repetition is put down to %s', ([, spans, blamed]) => {
  expect(repeatedBy(twice(100, 1_000), once, spans)).toEqual(new Map([[blamed, 1]]));
});

it('a text that stands twice in the log is embedded twice for good reason', () => {
  expect(repeatedBy(twice(100, 1_000), new Map([['text', 2]]), [kill])).toEqual(new Map());
});

it('counts by effect', () => {
  const repeated = new Map<Blamed, number>([
    ['rejoin', 1],
    ['worker killed', 3],
    ['broker killed', 4],
    ['guest worker', 5],
    ['unexplained', 6],
  ]);
  expect(['kill', 'rebalance', 'call'].map((effect) => countOf(repeated, effect as Effect))).toEqual([3, 10, 0]);
});

it('reads a journal whose last line was cut short', () => {
  const folder = mkdtempSync(join(tmpdir(), 'rag-journal-'));
  try {
    const path = join(folder, 'journal');
    writeFileSync(path, `5 ${sha256('a')}\n7 ${sha256('a')}\n9 ${sha256('b').slice(0, 20)}`);
    expect(readJournal(path)).toEqual(new Map([[sha256('a'), [5, 7]]]));
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});
