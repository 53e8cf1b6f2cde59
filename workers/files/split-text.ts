/**
 * Cuts a text into chunks of about so many tokens, at ends of sentences where it can. Pure.
 *
 * Tokens are estimated, not counted: a letter of a scarce alphabet (Han, kana, Hangul, emoji) is one token, any other
 * character a quarter. For English prose that is within some 15 % of what WordPiece gives, and it needs no model.
 * Between chunks only white space is dropped; a code point is never cut in two.
 */
export type SplitOptions = {
  /** Most estimated tokens in a chunk. */
  readonly targetTokens?: number;
};

export const DEFAULT_TARGET_TOKENS = 200;

/** Quarter tokens keep the sums whole numbers. */
const QUARTERS_A_TOKEN = 4;
const WIDE = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}\p{Extended_Pictographic}]/u;
const PARAGRAPH_END = /\n[^\S\n]*\n\s*/g;

export function estimateTokens(text: string): number {
  return Math.ceil(quarters(text) / QUARTERS_A_TOKEN);
}

export function splitText(text: string, { targetTokens = DEFAULT_TARGET_TOKENS }: SplitOptions = {}): string[] {
  const limit = Math.max(1, targetTokens) * QUARTERS_A_TOKEN;
  const chunks: string[] = [];
  let start = 0;
  let end = 0;
  let size = 0;
  const close = (): void => {
    const chunk = text.slice(start, end).trim();
    if (chunk !== '') chunks.push(chunk);
    start = end;
    size = 0;
  };
  for (const piece of pieces(text, limit)) {
    if (size > 0 && size + piece.size > limit) close();
    end = piece.end;
    size += piece.size;
  }
  close();
  return chunks;
}

type Piece = { readonly end: number; readonly size: number };

/** Sentences with the white space after them; a sentence over the limit comes in parts. Together they are the text. */
function* pieces(text: string, limit: number): Generator<Piece> {
  for (const { from, to } of sentences(text)) {
    const size = quarters(text.slice(from, to));
    if (size <= limit) yield { end: to, size };
    else yield* parts(text, from, to, limit);
  }
}

/** One locale everywhere, so that a document has the same chunks, and chunk ids, on every machine. */
function* sentences(text: string): Generator<{ from: number; to: number }> {
  const segmenter = new Intl.Segmenter('en', { granularity: 'sentence' });
  let from = 0;
  // Paragraph by paragraph: a heading or a list without full stops would else run into the next sentence.
  for (const match of [...text.matchAll(PARAGRAPH_END), undefined]) {
    const to = match === undefined ? text.length : match.index + match[0].length;
    for (const { index, segment } of segmenter.segment(text.slice(from, to))) {
      yield { from: from + index, to: from + index + segment.length };
    }
    from = to;
  }
}

/** A sentence over the limit, cut after white space if there is some, else between code points. */
function* parts(text: string, from: number, to: number, limit: number): Generator<Piece> {
  let size = 0;
  /** The last place after white space, and what was gathered up to it. */
  let gap: Piece | undefined;
  let at = from;
  while (at < to) {
    const char = String.fromCodePoint(text.codePointAt(at) as number);
    const cost = costOf(char);
    if (size > 0 && size + cost > limit) {
      const cut: Piece = gap ?? { end: at, size };
      yield cut;
      size -= cut.size;
      gap = undefined;
      continue;
    }
    at += char.length;
    size += cost;
    if (/\s/.test(char)) gap = { end: at, size };
  }
  if (size > 0) yield { end: to, size };
}

function quarters(text: string): number {
  let sum = 0;
  for (const char of text) sum += costOf(char);
  return sum;
}

function costOf(char: string): number {
  return char > '\u00ff' && WIDE.test(char) ? QUARTERS_A_TOKEN : 1;
}
