import { describe, expect, it } from 'vitest';
import { ServingError } from '../../../src/errors.ts';
import type { DeadLetter } from '../../../src/kafka/dead-letter.ts';
import { deadLetterMessage, messageBytes } from '../../../src/kafka/dead-letter-record.ts';
import { type HeaderList, headerText } from '../../../src/kafka/headers.ts';
import { type RawParts, raw } from './messages.ts';

const context = { workerId: 'w', atMs: Date.UTC(2026, 0, 2), maxRecordBytes: 10_000 };
const error = new ServingError('CHUNK_BLANK', 'text: nothing but white space (3 characters)');
const letter = (parts: RawParts, index?: number): DeadLetter => ({
  raw: raw(parts),
  index,
  error,
  stage: 'embed',
  attempts: 3,
});
const told = (headers: HeaderList | undefined) =>
  Object.fromEntries((headers ?? []).map(([name]) => [name, headerText(headers!, name)]));

describe('deadLetterMessage', () => {
  it('keeps the message as it was and says why it is there', () => {
    const { key, value, headers } = deadLetterMessage(
      letter({ value: 'x', headers: [['trace', Buffer.from('1')]] }, 4),
      context,
    );
    expect([String(key), String(value)]).toEqual(['doc-1', 'x']);
    expect(told(headers)).toEqual({
      trace: '1',
      'rag-dlq-code': 'CHUNK_BLANK',
      'rag-dlq-reason': error.message,
      'rag-dlq-stage': 'embed',
      'rag-dlq-attempts': '3',
      'rag-dlq-origin': 't/2/40',
      'rag-dlq-at': '2026-01-02T00:00:00.000Z',
      'rag-dlq-worker': 'w',
      'rag-dlq-index': '4',
    });
  });

  it('replaces what an earlier burial left, and drops its index', () => {
    const first = deadLetterMessage(letter({ value: 'x' }, 4), context);
    const { headers } = deadLetterMessage(letter({ value: 'x', headers: first.headers! }), context);
    expect(headers?.filter(([name]) => name === 'rag-dlq-code')).toHaveLength(1);
    expect(told(headers)['rag-dlq-index']).toBeUndefined();
  });

  it('cuts a value that is too large to its first bytes, and tells how many there were', () => {
    const message = deadLetterMessage(letter({ value: `head${'x'.repeat(50_000)}` }), context);
    expect(messageBytes(message)).toBeLessThanOrEqual(context.maxRecordBytes);
    expect(String(message.value).slice(0, 5)).toBe('headx');
    expect(told(message.headers)['rag-dlq-cut']).toBe('50004');
  });

  it('gives up the original headers when they alone are too much', () => {
    const message = deadLetterMessage(letter({ value: 'x', headers: [['big', Buffer.alloc(20_000)]] }), context);
    expect(messageBytes(message)).toBeLessThanOrEqual(context.maxRecordBytes);
    expect(told(message.headers)).toMatchObject({ 'rag-dlq-code': 'CHUNK_BLANK', 'rag-dlq-cut': '1' });
  });

  it('leaves a tombstone a tombstone', () => {
    expect(deadLetterMessage(letter({ value: null }), context).value).toBeNull();
  });
});
