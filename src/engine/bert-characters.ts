/**
 * What BertNormalizer and BertPreTokenizer make of one character, as the Rust library `tokenizers` does it.
 *
 * Node's own tables, and `@huggingface/tokenizers` with them, know a newer Unicode and treat rare Chinese characters
 * otherwise: about 54,000 characters come out differently. So the sets of characters are committed as data, taken from
 * the Rust library by bert-characters.py; that also makes an export the same on every version of Node.
 */
import { bertCharacterSets } from './bert-character-sets.ts';

/** The four switches of BertNormalizer. */
export type BertNormalizer = {
  readonly cleanText: boolean;
  readonly handleChineseChars: boolean;
  readonly stripAccents: boolean;
  readonly lowercase: boolean;
};

type SetName = Exclude<keyof typeof bertCharacterSets, 'tokenizers'>;
const setNames = Object.keys(bertCharacterSets).filter((name): name is SetName => name !== 'tokenizers');

export class BertCharacters {
  /** Version of the Rust library that the sets were taken from. */
  readonly library: string;
  readonly #bits = new Uint8Array(0x110000);

  constructor({ tokenizers, ...sets }: Readonly<Record<keyof typeof bertCharacterSets, string>> = bertCharacterSets) {
    this.library = tokenizers;
    setNames.forEach((name, bit) => {
      for (const range of sets[name].split(' ')) {
        const [first = 0, last = first] = range.split('-').map((hex) => Number.parseInt(hex, 16));
        for (let point = first; point <= last; point++) this.#bits[point]! |= 1 << bit;
      }
    });
  }

  is(name: SetName, char: string): boolean {
    return (this.#bits[char.codePointAt(0)!]! & (1 << setNames.indexOf(name))) !== 0;
  }

  /** The character's part of the normalized text; a space wherever a word ends or begins. */
  words(char: string, normalizer: BertNormalizer): string {
    let text = char;
    if (normalizer.cleanText)
      text = this.#each(text, (c) => (this.is('removed', c) ? '' : this.is('blank', c) ? ' ' : c));
    if (normalizer.handleChineseChars) text = this.#each(text, (c) => (this.is('ideograph', c) ? ` ${c} ` : c));
    if (normalizer.stripAccents) text = this.#each(text, (c) => this.#stripped(c));
    if (normalizer.lowercase) text = this.#each(text, (c) => (this.is('lowered', c) ? c.toLowerCase() : c));
    return this.#each(text, (c) => (this.is('separator', c) ? ' ' : this.is('punctuation', c) ? ` ${c} ` : c));
  }

  #stripped(char: string): string {
    if (this.is('mark', char)) return '';
    if (!this.is('decomposed', char)) return char;
    return this.#each(char.normalize('NFD'), (c) => (this.is('mark', c) ? '' : c));
  }

  #each(text: string, change: (char: string) => string): string {
    let changed = '';
    for (const char of text) changed += change(char);
    return changed;
  }
}

/** Every character there is, in order; surrogates are none. */
export function* everyCharacter(): Generator<string> {
  for (let point = 0; point < 0x110000; point++) {
    if (point < 0xd800 || point > 0xdfff) yield String.fromCodePoint(point);
  }
}
