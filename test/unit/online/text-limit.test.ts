import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { limitText } from '../../../online/text-limit.ts';

describe('limitText', () => {
  it('leaves what fits, byte for byte', () => {
    expect(limitText('äöü', 6)).toEqual({ text: 'äöü', cut: false });
    expect(limitText('a\ud800', 100)).toEqual({ text: 'a\ud800', cut: false });
  });

  it('cuts before a character that does not fit whole', () => {
    expect(limitText('äöü', 5)).toEqual({ text: 'äö', cut: true });
    expect(limitText('a🚀b', 4)).toEqual({ text: 'a', cut: true });
    expect(limitText(`${'a'.repeat(9)}🚀`, 10)).toEqual({ text: 'a'.repeat(9), cut: true });
  });

  it('what is cut fits, is a start of the text, and lacks less than one character', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme' }), fc.integer({ min: 4, max: 40 }), (text, maxBytes) => {
        const { text: short, cut } = limitText(text, maxBytes);
        const bytes = Buffer.byteLength(short);
        expect(bytes).toBeLessThanOrEqual(maxBytes);
        expect(text.startsWith(short)).toBe(true);
        expect(cut).toBe(Buffer.byteLength(text) > maxBytes);
        if (cut) expect(bytes).toBeGreaterThan(maxBytes - 4);
      }),
    );
  });
});
