import { describe, expect, it } from 'vitest';
import { vectorFault } from '../../../src/kserve/vector.ts';

const fp16 = (...bits: number[]) => Buffer.from(Uint16Array.from(bits).buffer);
const fp32 = (...values: number[]) => Buffer.from(Float32Array.from(values).buffer);

describe('vector faults', () => {
  const cases: { name: string; vector: Buffer; dtype: 'FP16' | 'FP32'; fault: string | undefined }[] = [
    {
      name: 'FP16 row with NaN never reaches a store (T10)',
      vector: fp16(0x3c00, 0x7e00),
      dtype: 'FP16',
      fault: 'VECTOR_NOT_FINITE',
    },
    { name: 'FP16 row with +Infinity (T10)', vector: fp16(0x7c00, 0x3c00), dtype: 'FP16', fault: 'VECTOR_NOT_FINITE' },
    { name: 'FP16 row with -Infinity at its end', vector: fp16(0, 0xfc00), dtype: 'FP16', fault: 'VECTOR_NOT_FINITE' },
    { name: 'FP16 row of zeros of both signs (T10)', vector: fp16(0, 0x8000, 0), dtype: 'FP16', fault: 'VECTOR_ZERO' },
    { name: 'FP16 smallest subnormal is a direction', vector: fp16(0, 1), dtype: 'FP16', fault: undefined },
    { name: 'FP16 largest value is finite', vector: fp16(0x7bff, 0xfbff), dtype: 'FP16', fault: undefined },
    { name: 'FP32 row with NaN', vector: fp32(1, Number.NaN), dtype: 'FP32', fault: 'VECTOR_NOT_FINITE' },
    {
      name: 'FP32 row with -Infinity',
      vector: fp32(Number.NEGATIVE_INFINITY),
      dtype: 'FP32',
      fault: 'VECTOR_NOT_FINITE',
    },
    { name: 'FP32 row of zeros of both signs', vector: fp32(0, -0), dtype: 'FP32', fault: 'VECTOR_ZERO' },
    { name: 'FP32 largest value is finite', vector: fp32(3.4028234663852886e38), dtype: 'FP32', fault: undefined },
    {
      name: 'FP32 smallest subnormal is a direction',
      vector: fp32(0, 1.401298464324817e-45),
      dtype: 'FP32',
      fault: undefined,
    },
  ];
  for (const { name, vector, dtype, fault } of cases) {
    it(name, () => expect(vectorFault(vector, dtype)).toBe(fault));
  }

  it('finds the fault wherever the vector lies and in whichever element it is', () => {
    for (const dims of [1, 2, 3, 384, 385]) {
      for (const at of [0, dims - 1]) {
        const bad = fp16(...Array.from({ length: dims }, (_, i) => (i === at ? 0xfc00 : 0x3c00)));
        const zero = fp16(...Array.from({ length: dims }, () => 0x8000));
        const small = fp16(...Array.from({ length: dims }, (_, i) => (i === at ? 0x8001 : 0)));
        for (let shift = 0; shift < 4; shift++) {
          const place = (vector: Buffer) => Buffer.concat([Buffer.alloc(shift), vector, Buffer.alloc(4, 0xff)]);
          const view = (vector: Buffer) => new Uint8Array(place(vector)).subarray(shift, shift + dims * 2);
          expect(vectorFault(view(bad), 'FP16')).toBe('VECTOR_NOT_FINITE');
          const buffer = place(bad).subarray(shift, shift + dims * 2);
          expect(vectorFault(buffer, 'FP16')).toBe('VECTOR_NOT_FINITE');
          expect(vectorFault(view(zero), 'FP16')).toBe('VECTOR_ZERO');
          expect(vectorFault(view(small), 'FP16')).toBeUndefined();
        }
      }
    }
  });

  it('agrees with every FP16 value', () => {
    for (let bits = 0; bits < 0x10000; bits++) {
      const fault =
        (bits & 0x7c00) === 0x7c00 ? 'VECTOR_NOT_FINITE' : (bits & 0x7fff) === 0 ? 'VECTOR_ZERO' : undefined;
      if (vectorFault(fp16(bits, 0), 'FP16') !== fault || vectorFault(fp16(0, bits), 'FP16') !== fault) {
        expect.fail(`${bits.toString(16)} is not ${fault ?? 'sound'}`);
      }
    }
  });
});
