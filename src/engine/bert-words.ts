/**
 * The words that BertNormalizer and BertPreTokenizer make of a text, character by character: those of the Rust library
 * `tokenizers`, where `@huggingface/tokenizers` by itself takes about 54,000 characters otherwise.
 *
 * The canonical order of combining marks, which no table of single characters can tell, is left as it is: it matters only
 * to a vocabulary with marks that the normalizer keeps and reorders, and the tokenizer export refuses such a one.
 */
import { BertCharacters, type BertNormalizer } from './bert-characters.ts';

export class BertWords {
  readonly #normalizer: BertNormalizer;
  readonly #characters: BertCharacters;
  /** What each character becomes, as far as it has been met. */
  readonly #known = new Map<string, string>();

  constructor(normalizer: BertNormalizer, characters = new BertCharacters()) {
    this.#normalizer = normalizer;
    this.#characters = characters;
  }

  in(text: string): string[] {
    let words = '';
    for (const char of text) words += this.of(char);
    return words.split(' ').filter((word) => word !== '');
  }

  /** The character's part of the text that is split at blanks. */
  of(char: string): string {
    let words = this.#known.get(char);
    if (words === undefined) {
      // A lone half of a character, which no UTF-8 can hold, is what its decoding would give.
      words = this.#characters.words(/^\p{Cs}$/u.test(char) ? '\ufffd' : char, this.#normalizer);
      this.#known.set(char, words);
    }
    return words;
  }
}
