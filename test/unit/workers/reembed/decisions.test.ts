/** What reembed decides without a store: which rows are copied, how a compared row counts, when readers may be switched. */
import { describe, expect, it } from 'vitest';
import type { Run } from '../../../../src/sinks/changeover.ts';
import type { StoredRow } from '../../../../src/sinks/sink.ts';
import { kindOf, nothingCompared } from '../../../../workers/reembed/compare.ts';
import { type Facts, judge } from '../../../../workers/reembed/guard.ts';
import { fateOf, groupOf, refuseName, shadowGroup } from '../../../../workers/reembed/shadow.ts';

const TOPIC = 'chunks';
const sourceOf = (offset: bigint, partition = 0, topic = TOPIC) => ({ topic, partition, offset });
const rowAt = (offset: bigint, more: Partial<StoredRow> = {}): StoredRow => ({
  ...{ chunkId: 'c', documentId: 'd', tenantId: undefined, vector: new Uint8Array(2), textSha256: 'ab', text: 't' },
  ...{ truncated: false, metadata: undefined, source: sourceOf(offset), version: undefined, embeddedAtMs: 1 },
  fingerprint: 'new',
  ...more,
});

describe('which rows are copied', () => {
  const start = { 0: '10', 1: '0' };
  it('those before the start of their partition; the topic tells the rest in its own order', () => {
    expect(fateOf(rowAt(9n), TOPIC, start)).toBe('copy');
    expect(fateOf(rowAt(10n), TOPIC, start)).toBe('from topic');
    expect(fateOf(rowAt(0n, { source: sourceOf(0n, 1) }), TOPIC, start)).toBe('from topic');
  });
  it('a partition that was added since comes from the topic, a row of another topic never does', () => {
    expect(fateOf(rowAt(5n, { source: sourceOf(5n, 7) }), TOPIC, start)).toBe('from topic');
    expect(fateOf(rowAt(99n, { source: sourceOf(99n, 0, 'files') }), TOPIC, start)).toBe('copy');
    expect(fateOf(rowAt(99n), undefined, {})).toBe('copy');
  });
  it('an empty text is a text, none is not', () => {
    expect(fateOf(rowAt(1n, { text: undefined }), TOPIC, start)).toBe('without text');
    expect(fateOf(rowAt(1n, { text: '' }), TOPIC, start)).toBe('copy');
  });
});

describe('names', () => {
  const run = { runs: { v2: {} as Run } };
  it('groups do not grow with each model', () => {
    expect(shadowGroup('g.reembed.v2', 'v3')).toBe('g.reembed.v3');
    expect([groupOf('g', 'base', run), groupOf('g', 'v2', run)]).toEqual(['g', 'g.reembed.v2']);
  });
  it('a prefix of Redis whose keys would lie among those of another collection is refused, one below it is not', () => {
    const redis = { kind: 'redis' } as Parameters<typeof refuseName>[0];
    expect(() => refuseName(redis, 'rag:chunk:2', ['rag:'])).toThrow(/lies among the keys of rag:/);
    expect(() => refuseName(redis, 'rag', ['ragdoc:'])).toThrow(/lies among/);
    expect(() => refuseName(redis, 'rag:', ['rag:'])).toThrow(/is read now/);
    expect(() => refuseName(redis, 'rag:v2:', ['rag:'])).not.toThrow();
  });
});

describe('a row that is compared', () => {
  const kind = (old: StoredRow, there: StoredRow | undefined, committed = 100n) =>
    kindOf(old, there, 'new', TOPIC, new Map([[0, committed]]));
  it('is missing only when its record was read', () => {
    expect(kind(rowAt(99n), undefined)).toBe('missing');
    expect(kind(rowAt(100n), undefined)).toBe('pending');
    expect(kind(rowAt(99n, { text: undefined }), undefined)).toBe('withoutText');
  });
  it('is told by its revision and its model', () => {
    expect(kind(rowAt(5n), rowAt(5n))).toBe('same');
    expect(kind(rowAt(5n), rowAt(6n))).toBe('newer');
    expect(kind(rowAt(6n), rowAt(5n))).toBe('older');
    expect(kind(rowAt(200n), rowAt(5n))).toBe('pending');
    expect(kind(rowAt(5n), rowAt(5n, { fingerprint: 'old' }))).toBe('foreign');
  });
});

describe('a switch', () => {
  const run = { from: 'store', fingerprint: 'new', phase: 'following' } as Run;
  const good: Facts = {
    ...{ to: 'v2', run, lag: 0n, old: { fingerprint: 'old', rows: 100 }, fresh: { fingerprint: 'new', rows: 100 } },
    comparison: { ...nothingCompared, compared: 100, same: 100 },
  };
  const failing = (change: Partial<Facts>) =>
    judge({ ...good, ...change }, { tolerance: 0.01, maxLag: 10 })
      .filter(({ ok }) => !ok)
      .map(({ check }) => check);
  it('passes when all is there, also within the tolerance and without a broker', () => {
    expect(failing({})).toEqual([]);
    expect(failing({ fresh: { fingerprint: 'new', rows: 99 }, lag: 10n })).toEqual([]);
    expect(failing({ lag: undefined })).toEqual([]);
  });
  it('is refused for each thing that is not as it should be, by its name', () => {
    expect(failing({ run: undefined })).toEqual(['record']);
    expect(failing({ run: { ...run, phase: 'copying' } })).toEqual(['record']);
    expect(failing({ fresh: { fingerprint: 'old', rows: 100 } })).toEqual(['fingerprint']);
    expect(failing({ run: { ...run, fingerprint: 'third' } })).toEqual(['fingerprint']);
    expect(failing({ fresh: { fingerprint: 'new', rows: 98 } })).toEqual(['rows']);
    expect(failing({ lag: 11n })).toEqual(['lag']);
    for (const bad of ['missing', 'older', 'foreign', 'withoutText'] as const) {
      expect(failing({ comparison: { ...nothingCompared, compared: 100, [bad]: 2 } })).toEqual(['sample']);
    }
    expect(failing({ old: { fingerprint: 'old', rows: 1 }, fresh: { fingerprint: 'new', rows: 0 } })).toEqual(['rows']);
  });
});
