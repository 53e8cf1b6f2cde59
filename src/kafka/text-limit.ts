/** Text as it may go to a model: well-formed Unicode, not blank, within a number of UTF-8 bytes. */

export type LimitedText =
  | { readonly kind: 'ok'; readonly text: string; readonly truncated: boolean }
  | { readonly kind: 'blank' }
  | { readonly kind: 'too-large'; readonly bytes: number };

export type OversizedText = 'cut' | 'reject';

/** In the language since ES2024; every supported Node has them. */
type UnicodeString = string & { toWellFormed(): string; isWellFormed(): boolean };

/** A UTF-16 unit takes at most three bytes in UTF-8. */
const MAX_BYTES_PER_UNIT = 3;
const encoder = new TextEncoder();

export function isWellFormed(text: string): boolean {
  return (text as UnicodeString).isWellFormed();
}

/** Lone surrogates become U+FFFD: strict parsers refuse a whole request for one of them. Blank means white space only. */
export function limitText(input: string, maxBytes: number, oversized: OversizedText): LimitedText {
  const text = (input as UnicodeString).toWellFormed();
  if (text.trim() === '') return { kind: 'blank' };
  if (text.length * MAX_BYTES_PER_UNIT <= maxBytes) return { kind: 'ok', text, truncated: false };
  const bytes = Buffer.byteLength(text, 'utf8');
  if (bytes <= maxBytes) return { kind: 'ok', text, truncated: false };
  if (oversized === 'reject') return { kind: 'too-large', bytes };
  const cut = cutToBytes(text, maxBytes);
  return cut.trim() === '' ? { kind: 'blank' } : { kind: 'ok', text: cut, truncated: true };
}

/** The longest beginning that is at most `maxBytes` in UTF-8; never half a code point. */
export function cutToBytes(text: string, maxBytes: number): string {
  return text.slice(0, encoder.encodeInto(text, new Uint8Array(maxBytes)).read);
}
