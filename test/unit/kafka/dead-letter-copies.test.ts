import { describe, expect, it } from 'vitest';
import { ServingError } from '../../../src/errors.ts';
import type { DeadLetter } from '../../../src/kafka/dead-letter.ts';
import { MessageCopies } from '../../../src/kafka/dead-letter-copies.ts';
import { raw } from './messages.ts';

const MEGABYTE = Buffer.alloc(1_048_576);
const error = new ServingError('CHUNK_BLANK', 'text: nothing but white space');

function letter(offset: bigint, index: number | undefined, value: Buffer | null = MEGABYTE): DeadLetter {
  const message = raw({ value: null });
  const source = { ...message.source, offset };
  return { raw: { ...message, value, source }, index, error, stage: 'decode', attempts: 1 };
}

describe('MessageCopies', () => {
  it('lets copies of one message come to 8 MiB, whatever others do', () => {
    const copies = new MessageCopies();
    const taken = Array.from({ length: 10 }, (_, index) => copies.take(letter(1n, index)));
    expect(taken).toEqual([...Array(8).fill(true), false, false]);
    expect(copies.take(letter(2n, 0))).toBe(true);
  });

  it('always lets the first one, however large it is', () => {
    const copies = new MessageCopies();
    const large = Buffer.alloc(9 * 1_048_576);
    expect([copies.take(letter(1n, 0, large)), copies.take(letter(1n, 1, large))]).toEqual([true, false]);
  });

  it('does not count letters of whole messages', () => {
    const copies = new MessageCopies();
    for (let i = 0; i < 20; i++) expect(copies.take(letter(1n, undefined))).toBe(true);
  });

  it('a copy that was not written is there for the next try', () => {
    const copies = new MessageCopies();
    for (let index = 0; index < 8; index++) copies.take(letter(1n, index));
    for (let index = 0; index < 8; index++) copies.giveBack(letter(1n, index));
    expect(Array.from({ length: 8 }, (_, index) => copies.take(letter(1n, index)))).toEqual(Array(8).fill(true));
  });

  it('forgets the oldest of many messages instead of growing', () => {
    const copies = new MessageCopies();
    for (let index = 0; index < 8; index++) copies.take(letter(0n, index));
    expect(copies.take(letter(0n, 8))).toBe(false);
    for (let offset = 1n; offset <= 1_024n; offset++) copies.take(letter(offset, 0));
    expect(copies.take(letter(0n, 9))).toBe(true);
  });
});
