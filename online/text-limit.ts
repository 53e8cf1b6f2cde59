/**
 * Texts that are longer than any model's window are cut before they travel: the model would drop the rest anyway, and a
 * megabyte on the way costs everybody's milliseconds. Cut at a code point, so no half character reaches the tokenizer.
 */

export type LimitedText = { readonly text: string; readonly cut: boolean };

export function limitText(text: string, maxBytes: number): LimitedText {
  // A UTF-16 code unit takes three bytes at most.
  if (text.length * 3 <= maxBytes || Buffer.byteLength(text, 'utf8') <= maxBytes) return { text, cut: false };
  const bytes = Buffer.from(text.slice(0, maxBytes), 'utf8');
  let end = Math.min(maxBytes, bytes.length);
  while (end > 0 && end < bytes.length && (bytes[end]! & 0xc0) === 0x80) end--;
  return { text: bytes.toString('utf8', 0, end), cut: true };
}
