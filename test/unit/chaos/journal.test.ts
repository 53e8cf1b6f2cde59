import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { type FaultSpan, readJournal, repeatedBy, sha256 } from '../../chaos/journal.ts';

const none = { kill: 0, rebalance: 0, call: 0, unexplained: 0 };
const span = (effect: FaultSpan['effect'], fromMs: number, untilMs: number): FaultSpan => ({ effect, fromMs, untilMs });
const twice = (a: number, b: number) => new Map([['text', [a, b]]]);
const once = new Map([['text', 1]]);

it.for([
  ['a kill between the two', [span('kill', 200, 300)], { ...none, kill: 1 }],
  ['a kill and a rebalance: the kill', [span('rebalance', 150, 160), span('kill', 200, 300)], { ...none, kill: 1 }],
  ['a call that failed, executed late', [span('call', 10, 90)], { ...none, call: 1 }],
  ['a fault after both', [span('kill', 20_000, 30_000)], { ...none, unexplained: 1 }],
  ['no fault', [], { ...none, unexplained: 1 }],
] as const)('a repetition is put down to %s', ([, spans, expected]) => {
  expect(repeatedBy(twice(100, 1_000), once, spans)).toEqual(expected);
});

it('a text that stands twice in the log is embedded twice for good reason', () => {
  expect(repeatedBy(twice(100, 1_000), new Map([['text', 2]]), [])).toEqual(none);
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
