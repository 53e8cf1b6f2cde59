import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { escapeJson, escapeText, unescapeJson, unescapeText } from '../../../../src/sinks/pgvector/escape.ts';

describe('text for PostgreSQL', () => {
  it('stands as it is when it holds no NUL, and NUL never reaches the server (P03)', () => {
    for (const plain of ['', 'plain', 'line\nbreak', '日本語🎉', '\\u0000', "it's"])
      expect(escapeText(plain)).toBe(plain);
    expect(escapeText('a\0b')).toBe('a\u001a0b');
  });

  it('comes back as it was, and two texts never become one', () => {
    const letters = fc.constantFrom('\0', '\u001a', '0', '1', 'a', 'd83d', '\\', '🎉');
    const texts = fc.array(letters, { maxLength: 12 }).map((parts) => parts.join(''));
    fc.assert(
      fc.property(texts, (text) => {
        expect(escapeText(text)).not.toContain('\0');
        expect(unescapeText(escapeText(text))).toBe(text);
      }),
    );
  });
});

describe('metadata for PostgreSQL', () => {
  it('stands as it is when jsonb takes it', () => {
    const json = JSON.stringify({ lang: 'en', path: 'C:\\u0000\\temp', quote: '"', n: [1.5, null] });
    expect(escapeJson(json)).toBe(json);
  });

  it('keeps NUL and half surrogate pairs, in keys and values, by what jsonb takes', () => {
    const letters = fc.constantFrom('\0', '\u001a', '0', 'd83d', '\\', '\\u0000', '\ud83d', '\ude00', '"', 'é', '\n');
    const texts = fc.array(letters, { maxLength: 8 }).map((parts) => parts.join(''));
    fc.assert(
      fc.property(fc.dictionary(texts, fc.oneof(texts, fc.array(texts, { maxLength: 3 }))), (metadata) => {
        const escaped = escapeJson(JSON.stringify(metadata));
        // What jsonb would refuse, once the doubled backslashes of plain text are out of the way.
        expect(escaped.replaceAll('\\\\', '')).not.toMatch(/\\u0000|\\ud[89a-f]/);
        expect(JSON.parse(unescapeJson(escaped))).toEqual(metadata);
      }),
    );
  });
});
