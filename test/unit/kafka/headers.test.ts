import { describe, expect, it } from 'vitest';
import { headerList, headerText, kafkaHeaders } from '../../../src/kafka/headers.ts';

const bytes = (text: string) => Buffer.from(text);

describe('headerList', () => {
  it('keeps every occurrence of a repeated header, in order (K16)', () => {
    const list = headerList({ 'x-attempt': [bytes('1'), bytes('2')], traceparent: bytes('t') });
    expect(list.map(([name, value]) => [name, String(value)])).toEqual([
      ['x-attempt', '1'],
      ['x-attempt', '2'],
      ['traceparent', 't'],
    ]);
    expect(headerText(list, 'x-attempt')).toBe('2');
  });

  it('takes text and null values, and drops what kafkajs mixes in for inherited names', () => {
    // What kafkajs makes of headers of these names: an array that begins with the inherited thing.
    const headers = Object.fromEntries([
      ['constructor', [Object, bytes('a')]],
      ['toString', [Object.prototype.toString, null]],
      ['__proto__', [Object.prototype, bytes('b')]],
      ['text', 'c'],
      ['none', null],
    ]);
    const list = headerList(headers).map(([name, value]) => [name, value === null ? null : String(value)]);
    expect(list).toEqual([
      ['constructor', 'a'],
      ['toString', null],
      ['__proto__', 'b'],
      ['text', 'c'],
      ['none', null],
    ]);
  });

  it('is empty without headers', () => {
    expect(headerList(undefined)).toEqual([]);
    expect(headerText([], 'x')).toBeUndefined();
    expect(headerText([['constructor', null]], 'constructor')).toBeUndefined();
  });
});

describe('kafkaHeaders', () => {
  it('groups repeats, makes null empty, and treats __proto__ as a name', () => {
    const headers = kafkaHeaders([
      ['a', bytes('1')],
      ['__proto__', bytes('p')],
      ['n', null],
      ['a', bytes('2')],
    ]);
    expect(Object.keys(headers)).toEqual(['a', '__proto__', 'n']);
    expect(headers.a).toEqual([bytes('1'), bytes('2')]);
    expect(headers.n).toEqual(Buffer.alloc(0));
    expect(Object.entries(headers).find(([name]) => name === '__proto__')?.[1]).toEqual(bytes('p'));
  });
});
