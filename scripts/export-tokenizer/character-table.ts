/**
 * What the graph knows of characters and pieces: two tables, from which a text's ids follow exactly.
 *
 * A character that no piece of the vocabulary holds makes its whole word unknown, whichever it is: all of them become one
 * private-use character. Characters that stand for special tokens come from the same area, out of reach for texts, since
 * the graph takes private use out of them before.
 */

import { BertCharacters, everyCharacter } from '../../src/engine/bert-characters.ts';
import { ServingError } from '../../src/errors.ts';
import { CONTINUATION, type WordPieceTokenizer } from './tokenizer-file.ts';

/** Stands for every character that the vocabulary does not have. */
export const UNKNOWN_CHARACTER = '\ue000';

/** Stands for the nth special token. */
export function literalCharacter(index: number): string {
  return String.fromCodePoint(0xe001 + index);
}
const MAX_LITERALS = 0xf8ff - 0xe001;

/** The last two code points of a plane are no private use, and are not taken out with it. */
export const PRIVATE_USE = /[\u{e000}-\u{f8ff}\u{f0000}-\u{ffffd}\u{100000}-\u{10fffd}]/u;

export type CharacterTable = {
  /** Each character as it stands in the normalized text. What is not listed becomes UNKNOWN_CHARACTER. */
  readonly characters: ReadonlyMap<string, string>;
  /** Pieces that are matched, longest first; those that mean "this word is unknown" are the negative ones. */
  readonly pieces: ReadonlyMap<string, number>;
};

/** Codes of pieces: id × 2, plus 1 for one that continues a word. A negative code makes the whole word unknown. */
const UNKNOWN_START = -2;
const UNKNOWN_CONTINUATION = -1;

export function characterTable(tokenizer: WordPieceTokenizer, characters = new BertCharacters()): CharacterTable {
  const { normalizer, literals, vocabulary } = tokenizer;
  // Where control characters are taken out, private use goes with them, and no text ever reaches such a piece.
  const reachable = [...vocabulary].filter(([piece]) => !normalizer.cleanText || !PRIVATE_USE.test(piece));
  if (reachable.some(([piece]) => PRIVATE_USE.test(piece)) || literals.length > MAX_LITERALS) {
    throw new ServingError(
      'ENGINE_MODEL_INVALID',
      'the vocabulary holds private-use characters and the normalizer keeps them: use --backend python',
    );
  }
  const alphabet = new Set(reachable.flatMap(([piece]) => [...piece]));
  checkOrder(alphabet, tokenizer, characters);
  const table = new Map<string, string>([['', '']]);
  for (const char of everyCharacter()) {
    if (PRIVATE_USE.test(char)) continue;
    let words = '';
    for (const c of characters.words(char, normalizer)) words += c === ' ' || alphabet.has(c) ? c : UNKNOWN_CHARACTER;
    if (words !== UNKNOWN_CHARACTER) table.set(char, words);
  }
  literals.forEach((_, index) => {
    table.set(literalCharacter(index), ` ${literalCharacter(index)} `);
  });
  return { characters: table, pieces: pieceCodes(tokenizer, reachable, alphabet) };
}

function pieceCodes(
  { literals, unknownToken, unknownId }: WordPieceTokenizer,
  reachable: readonly (readonly [string, number])[],
  alphabet: ReadonlySet<string>,
): Map<string, number> {
  const codes = new Map<string, number>();
  for (const [piece, id] of reachable) codes.set(piece, 2 * id + (piece.startsWith(CONTINUATION) ? 1 : 0));
  // '##' by itself continues nothing: it would need a word that goes on without a character.
  for (const char of [...alphabet, UNKNOWN_CHARACTER]) {
    if (!codes.has(char)) codes.set(char, UNKNOWN_START);
    if (!codes.has(CONTINUATION + char)) codes.set(CONTINUATION + char, UNKNOWN_CONTINUATION);
  }
  literals.forEach(({ id }, index) => {
    codes.set(literalCharacter(index), 2 * id);
  });
  codes.set(unknownToken, 2 * unknownId);
  return codes;
}

/**
 * Decomposition also puts combining marks in a canonical order, which no table of single characters can do. It matters only
 * for marks that are kept and that the vocabulary knows.
 */
function checkOrder(
  alphabet: ReadonlySet<string>,
  { normalizer }: WordPieceTokenizer,
  characters: BertCharacters,
): void {
  if (!normalizer.stripAccents) return;
  const moves = (a: string, b: string) => (a + b).normalize('NFD') !== a.normalize('NFD') + b.normalize('NFD');
  const kept = [...alphabet].filter((char) => !characters.is('mark', char) && !characters.is('decomposed', char));
  const ordered = kept.filter((char) => moves(char, '\u0334') || moves('\u0345', char));
  if (ordered.length === 0) return;
  const points = ordered.map((char) => `U+${char.codePointAt(0)!.toString(16).toUpperCase()}`).join(', ');
  throw new ServingError(
    'ENGINE_MODEL_INVALID',
    `the vocabulary holds combining characters that the normalizer reorders (${points}): use --backend python`,
  );
}
