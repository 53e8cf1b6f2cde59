import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { formatTraceparent, parseTraceparent } from '../../../src/telemetry/trace-context.ts';

const traceId = '4bf92f3577b34da6a3ce929d0e0e4736';
const spanId = '00f067aa0ba902b7';

describe('a traceparent', () => {
  it('is read, also of a later version and with more behind the flags', () => {
    const read = { traceId, spanId, traceFlags: 1 };
    expect(parseTraceparent(`00-${traceId}-${spanId}-01`)).toEqual(read);
    expect(parseTraceparent(`cc-${traceId}-${spanId}-01`)).toEqual(read);
    expect(parseTraceparent(`cc-${traceId}-${spanId}-01-what the future brings`)).toEqual(read);
    expect(parseTraceparent(`00-${traceId}-${spanId}-ff`)).toEqual({ ...read, traceFlags: 255 });
  });

  it.each([
    ['nothing', ''],
    ['the forbidden version', `ff-${traceId}-${spanId}-01`],
    ['a trace of zeros', `00-${'0'.repeat(32)}-${spanId}-01`],
    ['a parent of zeros', `00-${traceId}-${'0'.repeat(16)}-01`],
    ['capital letters', `00-${traceId.toUpperCase()}-${spanId}-01`],
    ['more behind the flags in version 00', `00-${traceId}-${spanId}-01-more`],
    ['a part too few', `00-${traceId}-${spanId}`],
    ['a short id', `00-${traceId.slice(1)}-${spanId}-01`],
    ['a line break', `00-${traceId}-${spanId}-01\n`],
    ['text around it', ` 00-${traceId}-${spanId}-01`],
  ])('is none with %s', (_, text) => {
    expect(parseTraceparent(text)).toBeUndefined();
  });

  it('written and read again is the same', () => {
    const hex = (length: number) =>
      fc.stringMatching(new RegExp(`^[0-9a-f]{${length}}$`)).filter((text) => /[^0]/.test(text));
    const parent = fc.record({ traceId: hex(32), spanId: hex(16), traceFlags: fc.nat({ max: 255 }) });
    fc.assert(fc.property(parent, (one) => void expect(parseTraceparent(formatTraceparent(one))).toEqual(one)));
  });
});
