import { describe, expect, it } from 'vitest';
import { decodeFp16, encodeFp16, fp16ToFp32, fp32ToFp16, writeFp16 } from '../../../src/kserve/fp16.ts';

const NAN_BITS = (bits: number) => (bits & 0x7c00) === 0x7c00 && (bits & 0x3ff) !== 0;

describe('FP16 to FP32', () => {
  it('FP16 row of the wire has the right width and byte order (T09)', () => {
    const row = Buffer.from('003c00bc0100ff0300045535ff7b0080', 'hex');
    expect([...decodeFp16(row)]).toEqual([
      1,
      -1,
      2 ** -24,
      6.097555160522461e-5,
      6.103515625e-5,
      0.333251953125,
      65504,
      -0,
    ]);
  });

  it('knows infinities and NaN', () => {
    expect(fp16ToFp32(0x7c00)).toBe(Number.POSITIVE_INFINITY);
    expect(fp16ToFp32(0xfc00)).toBe(Number.NEGATIVE_INFINITY);
    expect(fp16ToFp32(0x7e00)).toBeNaN();
    expect(fp16ToFp32(0xfc01)).toBeNaN();
  });

  it('reads a tensor that starts at an odd address', () => {
    const memory = Buffer.from('ff003c0040', 'hex');
    expect([...decodeFp16(memory.subarray(1))]).toEqual([1, 2]);
  });

  it('refuses half an element', () => {
    expect(() => decodeFp16(new Uint8Array(3))).toThrow(/3 bytes, not a multiple of 2/);
  });
});

describe('FP32 to FP16', () => {
  it('all 65,536 values come back with their bits', () => {
    const wrong: string[] = [];
    for (let bits = 0; bits < 0x10000; bits++) {
      const back = fp32ToFp16(fp16ToFp32(bits));
      const same = NAN_BITS(bits) ? NAN_BITS(back) : back === bits;
      if (!same) wrong.push(`${bits.toString(16)} -> ${back.toString(16)}`);
    }
    expect(wrong).toEqual([]);
  });

  it('halves between all finite neighbours round to the even one, and everything else to the nearer', () => {
    const wrong: string[] = [];
    for (let bits = 0; bits < 0x7bff; bits++) {
      const low = fp16ToFp32(bits);
      const high = fp16ToFp32(bits + 1);
      const middle = (low + high) / 2;
      const step = middle * 2 ** -23;
      const even = bits % 2 === 0 ? bits : bits + 1;
      for (const [value, expected] of [
        [middle, even],
        [middle - step, bits],
        [middle + step, bits + 1],
      ] as const) {
        if (fp32ToFp16(value) !== expected) wrong.push(`${value}`);
        if (fp32ToFp16(-value) !== (expected | 0x8000)) wrong.push(`${-value}`);
      }
    }
    expect(wrong).toEqual([]);
  });

  const rounding: { name: string; value: number; bits: number }[] = [
    { name: 'one third', value: 1 / 3, bits: 0x3555 },
    { name: '1 + 2^-11 ties down to even', value: 1 + 2 ** -11, bits: 0x3c00 },
    { name: '1 + 3·2^-11 ties up to even', value: 1 + 3 * 2 ** -11, bits: 0x3c02 },
    { name: 'just over half rounds up', value: 1 + 2 ** -11 + 2 ** -23, bits: 0x3c01 },
    { name: 'a carry moves into the exponent', value: 2 - 2 ** -12, bits: 0x4000 },
    { name: 'largest value', value: 65504, bits: 0x7bff },
    { name: 'just under the half-way point to 2^16', value: 65519.996, bits: 0x7bff },
    { name: 'half-way to 2^16 overflows', value: 65520, bits: 0x7c00 },
    { name: 'far too large', value: -1e30, bits: 0xfc00 },
    { name: 'smallest normal', value: 2 ** -14, bits: 0x0400 },
    { name: 'largest subnormal rounds up to the smallest normal', value: 2 ** -14 - 2 ** -26, bits: 0x0400 },
    { name: 'smallest subnormal', value: 2 ** -24, bits: 0x0001 },
    { name: 'half of it ties to zero', value: 2 ** -25, bits: 0x0000 },
    { name: 'a little more than half of it', value: 2 ** -25 * 1.0001, bits: 0x0001 },
    { name: 'one and a half of it ties to even', value: 1.5 * 2 ** -24, bits: 0x0002 },
    { name: 'negative underflow keeps its sign', value: -(2 ** -40), bits: 0x8000 },
    { name: 'FP32 subnormal', value: 1e-40, bits: 0x0000 },
    { name: 'minus zero', value: -0, bits: 0x8000 },
    { name: 'infinity', value: Number.POSITIVE_INFINITY, bits: 0x7c00 },
    { name: 'NaN', value: Number.NaN, bits: 0x7e00 },
  ];
  for (const { name, value, bits } of rounding) {
    it(`rounds ${name}`, () => {
      expect(fp32ToFp16(value).toString(16)).toBe(bits.toString(16));
    });
  }

  it('a NaN with a payload in its low bits only stays a NaN', () => {
    const values = new Float32Array(new Uint32Array([0x7f800001, 0xff800001]).buffer);
    expect([...decodeFp16(encodeFp16(values))]).toEqual([Number.NaN, Number.NaN]);
  });

  it('tensors are little-endian and read back', () => {
    const bytes = encodeFp16(Float32Array.of(1, -2, 0.5));
    expect(Buffer.from(bytes).toString('hex')).toBe('003c00c00038');
    expect([...decodeFp16(bytes)]).toEqual([1, -2, 0.5]);
  });

  it('writes at an odd offset and refuses what does not fit', () => {
    const target = new Uint8Array(6);
    expect(writeFp16(target, 1, Float32Array.of(1, 2))).toBe(5);
    expect(Buffer.from(target).toString('hex')).toBe('00003c004000');
    expect(() => writeFp16(target, 3, Float32Array.of(1, 2))).toThrow(
      /2 FP16 values do not fit at offset 3 of 6 bytes/,
    );
  });
});
