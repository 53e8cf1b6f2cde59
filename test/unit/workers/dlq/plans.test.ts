import { describe, expect, it } from 'vitest';
import { type Letter, letterOf } from '../../../../src/kafka/letter.ts';
import type { LetterReplay } from '../../../../src/kafka/redrive.ts';
import { letterDetails, letterDetailsJson } from '../../../../workers/dlq/letter-details.ts';
import { letterJson, letterRow } from '../../../../workers/dlq/letter-line.ts';
import { Pace } from '../../../../workers/dlq/pace.ts';
import { checkPurge, type PurgeFlags, PurgePlan } from '../../../../workers/dlq/purge-plan.ts';
import { ReplayBatch } from '../../../../workers/dlq/replay-batches.ts';
import { Tally } from '../../../../workers/dlq/tally.ts';
import { Targets } from '../../../../workers/dlq/targets.ts';

function letter(offset: number, more: Partial<Letter['raw']> = {}): Letter {
  return letterOf({
    source: { topic: 't.dlq', partition: 0, offset: BigInt(offset) },
    key: Buffer.from('SECRET key'),
    value: Buffer.from(`{"chunk_id":"c${offset}","document_id":"d","text":"SECRET","SECRET":1}`),
    headers: [
      ['rag-dlq-code', Buffer.from('CHUNK_INVALID')],
      ['mine', Buffer.from('SECRET')],
    ],
    timestampMs: offset * 1_000,
    ...more,
  });
}

describe('what a purge deletes', () => {
  const refusals: [flags: PurgeFlags, says: RegExp, partitions?: number][] = [
    [{}, /say what to purge/],
    [{ code: ['A'], all: true }, /--code cannot choose/],
    [{ since: 1, chunk: ['c'], document: ['d'], all: true }, /--since, --chunk, --document cannot/],
    [{ all: true, until: 1 }, /--all goes with none/],
    [{ offset: { from: 3n, to: 9n } }, /must begin at the beginning/],
    [{ offset: { from: 0n, to: undefined } }, /must begin at the beginning/],
    [{ offset: { from: 0n, to: 9n } }, /needs one --partition/, 2],
  ];
  for (const [flags, says, partitions = 1] of refusals) {
    it(`refuses what Kafka cannot do: ${says}`, () => expect(() => checkPurge(flags, partitions)).toThrow(says));
  }
  const plan = (flags: PurgeFlags, replayed: readonly number[]) => {
    checkPurge(flags, 1);
    const made = new PurgePlan(flags, ({ position }) => replayed.includes(Number(position.offset)));
    for (const offset of [3, 4, 5, 6]) made.add(letter(offset));
    const before = [...made.before(new Map([[0, { low: 3n, end: 9n }]]))];
    return { before, letters: made.letters, pending: made.pending };
  };
  it.each([
    ['until stops at the first that is not older', { until: 5_000 }, [], { before: [[0, 5n]], letters: 2, pending: 2 }],
    [
      'replayed stops at the first that was not',
      { replayed: true },
      [3, 4, 6],
      { before: [[0, 5n]], letters: 2, pending: 0 },
    ],
    ['nothing is meant', { until: 1 }, [], { before: [], letters: 0, pending: 0 }],
    ['all takes markers along', { all: true }, [4], { before: [[0, 9n]], letters: 4, pending: 3 }],
    ['all of no such partition', { all: true, partition: [4] }, [], { before: [], letters: 4, pending: 4 }],
  ] as [string, PurgeFlags, number[], object][])('%s', (_, flags, replayed, expected) =>
    expect(plan(flags, replayed)).toEqual(expected),
  );
});

describe('the pace of a replay', () => {
  it('comes to the rate however the letters come, and does not save up', () => {
    const pace = new Pace(10);
    expect(pace.burst).toBe(2);
    expect([pace.waitMs(2, 0), pace.waitMs(2, 0), pace.waitMs(1, 250)]).toEqual([0, 200, 150]);
    expect(pace.waitMs(1, 60_000)).toBe(0);
    expect(pace.waitMs(1, 60_000)).toBe(100);
  });
  it('without a rate waits for nothing', () => {
    const pace = new Pace(Number.POSITIVE_INFINITY);
    expect([pace.waitMs(500, 1), pace.waitMs(500, 1)]).toEqual([0, 0]);
  });
});

describe('transactions', () => {
  it('are full by letters or by bytes, and one that is too large goes alone', () => {
    const sizes = [1, 1, 1, 9, 1, 1];
    const replays = sizes.map((_, n) => ({ letter: letter(n) }) as LetterReplay);
    const batch = new ReplayBatch({ letters: 2, bytes: 5 }, (one) => sizes[replays.indexOf(one)] ?? 0);
    const full = [...replays.map((one) => batch.add(one)), batch.rest()].filter((one) => one.length > 0);
    expect(full.map((one) => one.map((replay) => replays.indexOf(replay)))).toEqual([[0, 1], [2], [3], [4, 5]]);
  });
});

describe('where a letter is replayed to', () => {
  const bounds = new Map([0, 1].map((partition) => [partition, { low: 0n, end: 0n }] as const));
  // Two questions of the broker's admin; a real one would only answer them more slowly.
  const targets = new Targets({ topicExists: async (topic) => topic === 't', topicBounds: async () => bounds });
  const place = async (message: object) =>
    (
      await targets.placed(letter(7), {
        topic: 't',
        count: 1,
        message: { key: Buffer.from('k'), value: null, ...message },
      })
    ).message.partition;
  it('its own partition, or by key where that is gone, or always the same one without a key', async () => {
    expect(await place({ partition: 1 })).toBe(1);
    expect(await place({ partition: 4 })).toBeUndefined();
    expect(await place({ partition: 4, key: null })).toBe(1);
  });
  it('a topic that is not there is an error', async () => {
    const replay = { topic: 'gone', count: 1, message: { key: null, value: null } };
    await expect(targets.placed(letter(1), replay)).rejects.toThrow(/topic gone.*does not exist/);
  });
});

describe('what is printed of a letter', () => {
  it('never holds key, text, foreign fields or foreign headers, unless they are asked for', () => {
    const one = letter(1);
    const mark = { atMs: 5, toTopic: 't' };
    const printed = [
      letterDetails(one, mark, false),
      JSON.stringify([letterJson(one, mark), letterDetailsJson(one, mark, false), letterRow(one, mark, 9)]),
    ];
    expect(printed.join()).not.toContain('SECRET');
    expect(printed[0]).toMatch(
      /value +\d+ bytes, JSON: chunk_id a string of 2 bytes; document_id a string of 1 bytes; text a string of 6 bytes; 1 other fields/,
    );
    expect(letterDetails(one, undefined, true)).toMatch(/key +SECRET key\n[\s\S]*header mine SECRET/);
  });
  it.each([
    ['null (a deletion)', { value: null }],
    ['1 bytes, not UTF-8', { value: Buffer.from([0xff]) }],
    ['1 bytes, no JSON', { value: Buffer.from('x') }],
    ['2 bytes, JSON: an array of 0', { value: Buffer.from('[]') }],
    ['2 bytes, JSON: no fields', { value: Buffer.from('{}') }],
  ])('a value that is %s', (shape, more) => expect(letterDetails(letter(1, more), undefined, false)).toContain(shape));
  it('a header with a time that no date can hold breaks nothing', () => {
    expect(letterJson({ ...letter(1), atMs: 9e15 }, undefined).at).toBeUndefined();
  });
});

describe('the statistics', () => {
  it('count by code, age and partition, and what was not replayed', () => {
    const tally = new Tally();
    tally.add(letter(1), undefined, 2_000);
    tally.add(letter(2), { atMs: 1, toTopic: 't' }, 10_000_000);
    const bounds = new Map([[0, { low: 1n, end: 3n }]]);
    expect(tally.json('t.dlq', bounds)).toMatchObject({
      ...{ letters: 2, pending: 1, replayed: 1, code: { CHUNK_INVALID: 2 }, partition: { 0: 2 } },
      ...{ age: { 'under 1h': 1, '1h to 1d': 1 }, offsets: { 0: { from: '1', to: '3' } } },
    });
    expect(tally.text('t.dlq')).toMatch(/^t\.dlq: 2 dead letters, 1 not replayed/);
    expect(new Tally().text('t.dlq')).toBe('t.dlq: 0 dead letters, 0 not replayed, 0 bytes\n');
  });
});
