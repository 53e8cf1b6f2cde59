import { beforeAll, describe, expect, it } from 'vitest';
import { characterTable, literalCharacter } from '../../../../scripts/export-tokenizer/character-table.ts';
import { readTokenizer } from '../../../../scripts/export-tokenizer/tokenizer-file.ts';
import { BertCharacters } from '../../../../src/engine/bert-characters.ts';
import { asFile, type SmallTokenizer, smallTokenizer } from '../../../support/small-tokenizer.ts';

function table(change: (file: SmallTokenizer) => void = () => undefined) {
  const file = smallTokenizer();
  change(file);
  return characterTable(readTokenizer(asFile(file), 'tokenizer.json'));
}

describe('what a character becomes', () => {
  let characters: BertCharacters;
  beforeAll(() => {
    characters = new BertCharacters();
  });
  const all = { cleanText: true, handleChineseChars: true, stripAccents: true, lowercase: true };
  const none = { cleanText: false, handleChineseChars: false, stripAccents: false, lowercase: false };

  it.each([
    ['É', 'e', 'É'],
    ['İ', 'i', 'İ'],
    ['Σ', 'σ', 'Σ'],
    ['\u0301', '', '\u0301'],
    ['海', ' 海 ', '海'],
    ['𠀀', ' 𠀀 ', '𠀀'],
    ['!', ' ! ', ' ! '],
    ['\u00a0', ' ', ' '],
    ['\0', '', '\0'],
    ['\ufffd', '', '\ufffd'],
    ['\uac00', '\u1100\u1161', '\uac00'],
  ])('%j with everything on is %j, with everything off %j', (char, on, off) => {
    expect(characters.words(char, all)).toBe(on);
    expect(characters.words(char, none)).toBe(off);
  });

  // Node's tables know U+061D as punctuation and U+0890 as a format character; the Rust library's are older.
  it.each(['\u061d', '\u0890'])('a character newer than the library’s tables is any other one: %j', (char) => {
    expect(characters.words(char, all)).toBe(char);
  });
});

describe('the table of a vocabulary', () => {
  it('keeps what pieces are made of and leaves every other character to the default', () => {
    const { characters } = table();
    expect([characters.get('H'), characters.get('ö'), characters.get('q'), characters.get('水')]).toEqual([
      'h',
      'o',
      undefined,
      ' \ue000 ',
    ]);
  });

  it('a character that may start a word but not go on with it makes the word unknown, not its rest', () => {
    const { pieces } = table();
    expect([pieces.get('s'), pieces.get('##s'), pieces.get('海'), pieces.get('##海')]).toEqual([18, 17, 22, -1]);
    expect([pieces.get('b'), pieces.get('##b'), pieces.get('\ue000')]).toEqual([-2, -1, -2]);
  });

  it('special tokens have characters that no text can hold', () => {
    const { characters, pieces } = table();
    expect(characters.get(literalCharacter(4))).toBe(` ${literalCharacter(4)} `);
    expect(pieces.get(literalCharacter(4))).toBe(2 * 4);
  });

  it('private use in the vocabulary cannot be reached where control characters are taken out', () => {
    const withPrivateUse = (file: SmallTokenizer) => Object.assign(file.model.vocab as object, { '\ue001': 13 });
    expect(table(withPrivateUse).pieces.get('\ue001')).toBe(0);
    expect(() =>
      table((file) => {
        withPrivateUse(file);
        file.normalizer!.clean_text = false;
      }),
    ).toThrow('private-use characters');
  });

  it('marks that decomposition would reorder are refused by code point', () => {
    expect(() => table((file) => Object.assign(file.model.vocab as object, { '\u302e': 13 }))).toThrow('U+302E');
  });
});
