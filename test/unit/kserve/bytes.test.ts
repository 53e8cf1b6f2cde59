import { describe, expect, it } from 'vitest';
import { isServingError } from '../../../src/errors.ts';
import {
  decodeElements,
  decodeTexts,
  elementText,
  encodeAll,
  encodedSize,
  encodedSizeOfAll,
  writeBytes,
} from '../../../src/kserve/bytes.ts';

const hex = (bytes: Uint8Array) => Buffer.from(bytes).toString('hex');

describe('BYTES elements', () => {
  const elements: { name: string; text: string; bytes: string }[] = [
    { name: 'ASCII', text: 'a b', bytes: '03000000 612062' },
    { name: 'nothing', text: '', bytes: '00000000' },
    { name: 'NUL is kept (P03)', text: 'a\u0000b', bytes: '03000000 610062' },
    { name: 'two-byte characters', text: 'é', bytes: '02000000 c3a9' },
    { name: 'three-byte characters', text: '你好', bytes: '06000000 e4bda0e5a5bd' },
    { name: 'a surrogate pair', text: '🚀', bytes: '04000000 f09f9a80' },
    { name: 'a lone high surrogate is U+FFFD (P01)', text: 'x\ud83d y', bytes: '06000000 78efbfbd2079' },
    { name: 'a lone low surrogate is U+FFFD (P01)', text: '\ude80', bytes: '03000000 efbfbd' },
    { name: 'surrogates in the wrong order are two U+FFFD', text: '\ude80\ud83d', bytes: '06000000 efbfbdefbfbd' },
  ];
  for (const { name, text, bytes } of elements) {
    it(`writes ${name}`, () => {
      const expected = bytes.replaceAll(' ', '');
      expect(hex(encodeAll([text]))).toBe(expected);
      expect(encodedSize(text)).toBe(expected.length / 2);
    });
  }

  it('length prefix counts bytes, not characters (P04)', () => {
    const texts = ['\u00e9', '', '\ud83d\ude80', 'a b', '\u4f60\u597d'];
    expect(hex(encodeAll(texts))).toBe('02000000c3a90000000004000000f09f9a800300000061206206000000e4bda0e5a5bd');
    expect(decodeTexts(encodeAll(texts), 'ARGUMENT_INVALID', 5)).toEqual(texts);
  });

  it('one lone surrogate does not move the elements after it (P01)', () => {
    const texts = ['first', 'cost \ud83d end', 'third'];
    expect(decodeTexts(encodeAll(texts), 'ARGUMENT_INVALID')).toEqual(['first', 'cost \ufffd end', 'third']);
  });

  it('every size of text around the fast path fits exactly', () => {
    for (const unit of ['a', 'é', '你', '🚀', '\ud83d']) {
      for (let repeat = 0; repeat < 40; repeat++) {
        const text = unit.repeat(repeat);
        const target = new Uint8Array(encodedSize(text));
        expect(writeBytes(target, 0, text)).toBe(target.length);
        expect(elementText(decodeElements(target, 'ARGUMENT_INVALID', 1)[0]!)).toBe(Buffer.from(text).toString());
      }
    }
  });
});

describe('writing into a slot', () => {
  it('starts at the offset, returns the next one and touches nothing else', () => {
    for (const target of [new Uint8Array(20).fill(0xee), Buffer.alloc(20, 0xee)]) {
      const next = writeBytes(target, 3, 'hé');
      expect(next).toBe(10);
      expect(hex(target)).toBe('eeeeee0300000068c3a9eeeeeeeeeeeeeeeeeeee');
    }
  });

  it('writes through a view into the memory behind it', () => {
    const memory = new Uint8Array(32);
    writeBytes(memory.subarray(8, 16), 0, 'abcd');
    expect(hex(memory.subarray(8, 16))).toBe('0400000061626364');
  });

  it('sizes of several texts add up', () => {
    expect(encodedSizeOfAll(['ab', '', '🚀'])).toBe(6 + 4 + 8);
  });

  const tooSmall: { name: string; size: number; offset: number; text: string }[] = [
    { name: 'a text one byte too long', size: 8, offset: 0, text: 'abcde' },
    { name: 'a multi-byte character that would be cut', size: 8, offset: 0, text: 'abc你' },
    { name: 'no room for the prefix', size: 3, offset: 0, text: '' },
    { name: 'an offset past the end', size: 8, offset: 9, text: '' },
    { name: 'a negative offset', size: 8, offset: -1, text: '' },
    { name: 'an offset that is no number', size: 8, offset: Number.NaN, text: '' },
  ];
  for (const { name, size, offset, text } of tooSmall) {
    it(`refuses ${name} and leaves the slot as it was`, () => {
      const target = new Uint8Array(size).fill(7);
      expect(() => writeBytes(target, offset, text)).toThrow(/BYTES element of \d+ bytes does not fit/);
      expect(target.every((byte) => byte === 7)).toBe(true);
    });
  }
});

describe('reading a tensor', () => {
  it('gives views, not copies', () => {
    const tensor = encodeAll(['ab', 'cd']);
    const [, second] = decodeElements(tensor, 'ARGUMENT_INVALID');
    tensor[10] = 'X'.charCodeAt(0);
    expect(elementText(second!)).toBe('Xd');
  });

  const malformed: { name: string; bytes: string; count?: number; message: RegExp }[] = [
    { name: 'half a prefix', bytes: '0100', message: /element 0 has no whole length prefix, 2 bytes are left/ },
    { name: 'an element past the end', bytes: '0500000061', message: /element 0 says 5 bytes, 5 bytes are left/ },
    { name: 'a length over 2^31', bytes: 'ffffffff61', message: /says 4294967295 bytes/ },
    { name: 'bytes after the last element', bytes: '0100000061ff', message: /element 1 has no whole length prefix/ },
    { name: 'too few elements', bytes: '0100000061', count: 2, message: /holds 1 elements where its shape says 2/ },
    { name: 'too many elements', bytes: '0000000000000000', count: 1, message: /holds 2 elements/ },
  ];
  for (const { name, bytes, count, message } of malformed) {
    it(`refuses ${name}`, () => {
      for (const code of ['INFERENCE_RESPONSE_INVALID', 'ARGUMENT_INVALID'] as const) {
        const read = () => decodeElements(Buffer.from(bytes, 'hex'), code, count);
        expect(read).toThrow(message);
        expect(read).toThrow(expect.toSatisfy((error: unknown) => isServingError(error, code)));
      }
    });
  }

  it('an empty tensor has no elements', () => {
    expect(decodeElements(new Uint8Array(0), 'ARGUMENT_INVALID', 0)).toEqual([]);
  });
});
