import { describe, expect, it } from 'vitest';
import {
  isMeant,
  type LetterFacts,
  type LetterFilter,
  parseSpan,
  rangesOf,
} from '../../../../workers/letters/filter.ts';

const everything: LetterFilter = {
  codes: [],
  sinceMs: undefined,
  untilMs: undefined,
  chunkIds: [],
  documentIds: [],
  partitions: [],
  offsets: undefined,
};
const facts: LetterFacts = { code: 'A', atMs: 100, chunkId: 'c', documentId: 'd', partition: 1, offset: 7n };

describe('which letters are meant', () => {
  const cases: [name: string, filter: Partial<LetterFilter>, meant: boolean][] = [
    ['nothing said means every letter', {}, true],
    ['one of several codes', { codes: ['B', 'A'] }, true],
    ['another code', { codes: ['B'] }, false],
    ['since is included', { sinceMs: 100 }, true],
    ['until is not', { untilMs: 100 }, false],
    ['before since', { sinceMs: 101 }, false],
    ['another document', { documentIds: ['x'] }, false],
    ['both must hold', { chunkIds: ['c'], documentIds: ['x'] }, false],
    ['its partition', { partitions: [0, 1] }, true],
    ['the last offset of a span', { offsets: { from: 3n, to: 7n } }, true],
    ['behind a span', { offsets: { from: 3n, to: 6n } }, false],
    ['a span without end', { offsets: { from: 7n, to: undefined } }, true],
  ];
  for (const [name, filter, meant] of cases) {
    it(name, () => expect(isMeant({ ...everything, ...filter }, facts)).toBe(meant));
  }
  it('a letter that does not say its code is not meant by any code', () => {
    expect(isMeant({ ...everything, codes: ['A'] }, { ...facts, code: undefined })).toBe(false);
  });
});

describe('spans of offsets', () => {
  it.each([
    ['7', { from: 7n, to: 7n }],
    ['7..9', { from: 7n, to: 9n }],
    ['7..', { from: 7n, to: undefined }],
    ['..9', { from: 0n, to: 9n }],
    ['9..7', undefined],
    ['..', undefined],
    ['', undefined],
    ['-1', undefined],
    ['7.9', undefined],
  ])('%s', (text, span) => expect(parseSpan(text)).toEqual(span));
});

describe('what has to be read', () => {
  const bounds = new Map([
    [0, { low: 5n, end: 20n }],
    [1, { low: 0n, end: 0n }],
    [2, { low: 0n, end: 8n }],
  ]);
  it('is every partition that holds something', () => {
    expect([...rangesOf(everything, bounds)]).toEqual([
      [0, { from: 5n, to: 20n }],
      [2, { from: 0n, to: 8n }],
    ]);
  });
  it('is no more than the span asks for, within what is there', () => {
    const ranges = rangesOf({ ...everything, offsets: { from: 2n, to: 9n } }, bounds);
    expect([...ranges]).toEqual([
      [0, { from: 5n, to: 10n }],
      [2, { from: 2n, to: 8n }],
    ]);
    expect([...rangesOf({ ...everything, offsets: { from: 30n, to: undefined } }, bounds)]).toEqual([]);
  });
});
