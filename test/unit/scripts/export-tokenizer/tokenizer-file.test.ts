import { describe, expect, it } from 'vitest';
import { readTokenizer } from '../../../../scripts/export-tokenizer/tokenizer-file.ts';
import { asFile, type SmallTokenizer, smallTokenizer } from '../../../support/small-tokenizer.ts';

function read(change: (tokenizer: SmallTokenizer) => void = () => undefined) {
  const tokenizer = smallTokenizer();
  change(tokenizer);
  return readTokenizer(asFile(tokenizer), 'tokenizer.json');
}

describe('tokenizer.json for a graph', () => {
  it('is read: the file’s own limit of 128 tokens does not count', () => {
    const tokenizer = read();
    expect(tokenizer).toMatchObject({ clsId: 2, sepId: 3, padId: 0, unknownId: 1, maxWordChars: 100 });
    expect(tokenizer.literals.map(({ text }) => text)).toEqual(['[PAD]', '[UNK]', '[CLS]', '[SEP]', '[MASK]']);
    expect(tokenizer.sha256).toMatch(/^[0-9a-f]{64}$/);
  });

  it.each([
    [true, null, true],
    [false, null, false],
    [true, false, false],
    [false, true, true],
  ])('lowercase %s and strip_accents %s: accents are stripped = %s', (lowercase, strip_accents, expected) => {
    const { normalizer } = read((file) => Object.assign(file.normalizer!, { lowercase, strip_accents }));
    expect(normalizer).toMatchObject({ lowercase, stripAccents: expected });
  });

  it('the older form of the post-processor is the same thing', () => {
    const older = read((file) => {
      file.post_processor = { type: 'BertProcessing', sep: ['[SEP]', 3], cls: ['[CLS]', 2] };
    });
    expect(older).toMatchObject({ clsId: 2, sepId: 3 });
  });

  it('padding is by the token that the file names', () => {
    const { padId } = read((file) => {
      file.padding = { strategy: { Fixed: 128 }, direction: 'Right', pad_id: 4, pad_type_id: 0, pad_token: '[MASK]' };
    });
    expect(padId).toBe(4);
  });

  const refused: [string, (file: SmallTokenizer) => void][] = [
    ['its model is Unigram, not WordPiece', (file) => Object.assign(file.model, { type: 'Unigram' })],
    ['its model is BPE, not WordPiece', (file) => Object.assign(file.model, { type: 'BPE' })],
    [
      'its pre_tokenizer is ByteLevel, not BertPreTokenizer',
      (file) => Object.assign(file.pre_tokenizer, { type: 'ByteLevel' }),
    ],
    [
      'its pre_tokenizer is Sequence(BertPreTokenizer, Digits), not BertPreTokenizer',
      (file) => {
        file.pre_tokenizer = { type: 'Sequence', pretokenizers: [{ type: 'BertPreTokenizer' }, { type: 'Digits' }] };
      },
    ],
    [
      'its normalizer is Sequence(NFC, Lowercase), not BertNormalizer',
      (file) => {
        file.normalizer = { type: 'Sequence', normalizers: [{ type: 'NFC' }, { type: 'Lowercase' }] };
      },
    ],
    [
      'its normalizer is none, not BertNormalizer',
      (file) => {
        file.normalizer = null;
      },
    ],
    [
      'its post_processor is RobertaProcessing',
      (file) => Object.assign(file.post_processor, { type: 'RobertaProcessing' }),
    ],
    [
      'its post_processor wraps otherwise',
      (file) => Object.assign(file.post_processor, { pair: (file.post_processor.pair as unknown[]).slice(0, 4) }),
    ],
    ['its added_tokens.4.lstrip is not supported', (file) => Object.assign(file.added_tokens[4]!, { lstrip: true })],
    [
      'its added_tokens.4.normalized is not supported',
      (file) => Object.assign(file.added_tokens[4]!, { normalized: true }),
    ],
    [
      'its added tokens [MASK] and SK]x overlap',
      (file) => file.added_tokens.push({ ...file.added_tokens[4]!, content: 'SK]x', id: 40 }),
    ],
    [
      'its added token [MASK] has another id than in the vocabulary',
      (file) => Object.assign(file.added_tokens[4]!, { id: 40 }),
    ],
    ['its vocabulary has no unknown token <unk>', (file) => Object.assign(file.model, { unk_token: '<unk>' })],
    [
      'its model.continuing_subword_prefix is not supported',
      (file) => Object.assign(file.model, { continuing_subword_prefix: '@@' }),
    ],
    [
      'its padding.direction is not supported',
      (file) => {
        file.padding = { direction: 'Left', pad_id: 0, pad_type_id: 0 };
      },
    ],
    [
      'its truncation.direction is not supported',
      (file) => {
        file.truncation = { direction: 'Left' };
      },
    ],
  ];
  it.each(refused)('refused by name, with the way out: %s', (what, change) => {
    expect(() => read(change)).toThrow(
      expect.objectContaining({ code: 'ENGINE_MODEL_INVALID', message: expect.stringContaining(what) }),
    );
    expect(() => read(change)).toThrow('--backend python');
  });

  it('everything that is wrong is told at once', () => {
    expect(() =>
      read((file) => {
        file.normalizer = { type: 'NFKC' };
        file.pre_tokenizer = { type: 'Metaspace' };
        file.model.type = 'Unigram';
      }),
    ).toThrow(/model is Unigram.*normalizer is NFKC.*pre_tokenizer is Metaspace/);
  });

  it.each([
    ['not JSON', Buffer.from('[PAD]\n[UNK]\n')],
    ['not UTF-8', Buffer.from([0x7b, 0xff, 0x7d])],
    ['no tokenizer', Buffer.from('{"architectures":["BertModel"]}')],
  ])('a file that is %s is named', (_, content) => {
    expect(() => readTokenizer(content, 'vocab.txt')).toThrow(/^vocab\.txt is no/);
  });
});
