/** The pure parts of the retry queue: names, records, what becomes of a job, warnings about a server. */
import { describe, expect, it } from 'vitest';
import { type ErrorCode, ServingError } from '../../../src/errors.ts';
import type { RawMessage } from '../../../src/records/chunk.ts';
import { readRecord, type StoredRecord, storedRecord } from '../../../src/retry/job-record.ts';
import { attemptOf, nextStep, type RunEnd } from '../../../src/retry/next-step.ts';
import { jobId, queueName } from '../../../src/retry/queue-name.ts';
import type { RetryEntry } from '../../../src/retry/retry-queue.ts';
import { setupWarnings } from '../../../src/retry/server-checks.ts';

const raw: RawMessage = {
  source: { topic: 'rag.chunks', partition: 3, offset: 9_007_199_254_740_993n },
  key: Buffer.from('k'),
  value: Buffer.from([0, 255, 10]),
  headers: [
    ['h', null],
    ['h', Buffer.from([1])],
  ],
  timestampMs: 1_700_000_000_000,
};
const entry: RetryEntry = {
  raw,
  index: 0,
  chunkId: 'c',
  stage: 'persist',
  error: new ServingError('SINK_ROW_REFUSED', 'x'),
  attempts: 2,
};

describe('names', () => {
  it('a job id has no colon, is no number, and tells chunks, messages and topics made anew apart', () => {
    const ids = [
      jobId(raw, undefined),
      jobId(raw, 0),
      jobId({ ...raw, source: { ...raw.source, partition: 4 } }, 0),
      jobId({ ...raw, timestampMs: 1 }, 0),
    ];
    expect(new Set(ids).size).toBe(4);
    for (const id of ids) expect(id).toMatch(/^[A-Za-z0-9._-]*[A-Za-z._-][A-Za-z0-9._-]*$/);
    expect(ids[1]).toBe('rag.chunks-3-9007199254740993-0-1700000000000');
  });

  it('a queue name is safe whatever the group is called, and differs wherever the identity differs', () => {
    const identity = { consumerGroup: 'a:b c/ü', topic: 't', collection: 'x' };
    const names = [
      identity,
      { ...identity, consumerGroup: 'a:b c/ö' },
      { ...identity, topic: 'u' },
      { ...identity, collection: 'y' },
      { consumerGroup: 'a', topic: 'b-t', collection: 'x' },
      { consumerGroup: 'a-b', topic: 't', collection: 'x' },
      { ...identity, consumerGroup: 'g'.repeat(255) },
    ].map(queueName);
    expect(new Set(names).size).toBe(names.length);
    for (const name of names) expect(name).toMatch(/^[A-Za-z0-9._-]{1,80}$/);
  });
});

describe('records', () => {
  it('come back as they went, through JSON', () => {
    const record = readRecord(JSON.parse(JSON.stringify(storedRecord(entry, 'message'))));
    expect(record).toMatchObject({ source: raw.source, index: 0, attempts: 2, timestampMs: raw.timestampMs });
    expect(record?.raw).toEqual(raw);
  });

  it('a null value and key stay null, empty ones stay empty', () => {
    const odd = { ...raw, key: null, value: Buffer.alloc(0), headers: [] };
    expect(readRecord(storedRecord({ ...entry, raw: odd, index: undefined }, 'message'))?.raw).toEqual(odd);
  });

  it('origin keeps nothing of the content', () => {
    const stored = storedRecord(entry, 'origin');
    expect(stored.message).toBeNull();
    expect(JSON.stringify(stored)).not.toContain(Buffer.from([0, 255, 10]).toString('base64'));
    expect(readRecord(stored)).toEqual({
      source: raw.source,
      timestampMs: raw.timestampMs,
      index: 0,
      attempts: 2,
      raw: undefined,
    });
  });

  const good = storedRecord(entry, 'message');
  const bad: readonly (readonly [string, unknown])[] = [
    ['nothing', undefined],
    ['a text', 'x'],
    ['another version', { ...good, v: 2 }],
    ['an offset that is a number', { ...good, offset: 7 }],
    ['a negative offset', { ...good, offset: '-1' }],
    ['no partition', { ...good, partition: undefined }],
    ['no time stamp', { ...good, timestampMs: null }],
    ['half an attempt', { ...good, attempts: 0.5 }],
    ['an index that is none', { ...good, index: 'first' }],
    ['no message part', { ...good, message: undefined }],
    ['a value that is no text', { ...good, message: { ...good.message, value: 1 } }],
    ['headers that are no list', { ...good, message: { ...good.message, headers: {} } }],
    ['a header without a name', { ...good, message: { ...good.message, headers: [[null, null]] } }],
  ];
  for (const [name, data] of bad) {
    it(`${name} is not guessed at`, () => expect(readRecord(data as StoredRecord)).toBeUndefined());
  }
});

describe('what becomes of a job', () => {
  const policy = { baseMs: 1_000, maxMs: 10_000 };
  const failed = (code: ErrorCode): RunEnd => ({ kind: 'failed', error: new ServingError(code, 'x') });
  const again = (code: ErrorCode): RunEnd => ({ kind: 'again', error: new ServingError(code, 'x') });
  /** Attempts counted since the hand-over, at a limit of five with one made before it. */
  const step = (end: RunEnd, since: number, random = 1) =>
    nextStep(end, { before: 1, since, limit: 5 }, policy, random);

  const cases: readonly (readonly [string, RunEnd, number, object])[] = [
    ['done goes', { kind: 'done' }, 0, { kind: 'remove' }],
    ['abandoned is for the next', { kind: 'abandoned' }, 0, { kind: 'release' }],
    [
      'refused: twice the first wait',
      again('INFERENCE_REJECTED'),
      0,
      { delayMs: 2_000, attempt: 'INFERENCE_REJECTED' },
    ],
    ['refused again: doubled', again('INFERENCE_REJECTED'), 2, { delayMs: 8_000 }],
    [
      'blamed on the chunk, whatever the class',
      again('INFERENCE_UNAVAILABLE'),
      0,
      { attempt: 'INFERENCE_UNAVAILABLE' },
    ],
    ['refused on the last attempt: kept, at the longest wait', again('CHUNK_INVALID'), 3, { delayMs: 10_000 }],
    ['a bug counts', failed('INTERNAL'), 0, { attempt: 'INTERNAL' }],
    [
      'an outage does not count, and waits no longer',
      failed('KAFKA_UNAVAILABLE'),
      0,
      { attempt: undefined, delayMs: 1_000 },
    ],
    ['nor does a wrong setting', failed('SINK_SCHEMA_MISMATCH'), 3, { attempt: undefined, delayMs: 8_000 }],
  ];
  for (const [name, end, since, expected] of cases) {
    it(name, () => expect(step(end, since)).toMatchObject(expected));
  }

  it('half of a wait is random, and none is over the longest', () => {
    expect(step(again('CHUNK_INVALID'), 0, 0)).toMatchObject({ delayMs: 1_000 });
    for (const since of [3, 10, 1_000]) expect(step(again('CHUNK_INVALID'), since)).toMatchObject({ delayMs: 10_000 });
  });

  it('attempts count on from the hand-over, and the last is told, and what comes after it too', () => {
    const at = (before: number, since: number) => attemptOf({ before, since, limit: 3 });
    expect(at(1, 0)).toEqual({ attempt: 2, last: false });
    expect(at(1, 1)).toEqual({ attempt: 3, last: true });
    expect(at(3, 0)).toEqual({ attempt: 4, last: true });
  });
});

describe('warnings about a server', () => {
  const cases = [
    { name: 'all is well', setup: ['noeviction', 'yes', ''], says: [] },
    { name: 'save points alone will do', setup: ['noeviction', 'no', '3600 1'], says: [] },
    { name: 'eviction', setup: ['allkeys-lru', 'yes', ''], says: [/allkeys-lru.*noeviction/] },
    { name: 'no persistence', setup: ['noeviction', 'no', ''], says: [/forgets/] },
    { name: 'a server that tells nothing', setup: [undefined, undefined, undefined], says: [] },
  ] as const;
  for (const { name, setup, says } of cases) {
    it(name, () => {
      const [maxmemoryPolicy, appendonly, save] = setup;
      const expected = says.map((one) => expect.stringMatching(one));
      expect(setupWarnings({ maxmemoryPolicy, appendonly, save })).toEqual(expected);
    });
  }
});
