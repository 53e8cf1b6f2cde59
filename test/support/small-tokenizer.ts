/** A tokenizer.json of BERT's kind with a handful of pieces, as plain data to be changed by a test. */
export type SmallTokenizer = ReturnType<typeof smallTokenizer>;

const PIECES = ['[PAD]', '[UNK]', '[CLS]', '[SEP]', '[MASK]', 'tide', 'har', '##bour', '##s', 's', 'é', '海', '.'];

export function smallTokenizer() {
  const special = (content: string) => ({
    id: PIECES.indexOf(content),
    content,
    special: true,
    single_word: false,
    lstrip: false,
    rstrip: false,
    normalized: false,
  });
  const token = (id: string, type_id: number) => ({ SpecialToken: { id, type_id } });
  const text = (id: string, type_id: number) => ({ Sequence: { id, type_id } });
  const single = [token('[CLS]', 0), text('A', 0), token('[SEP]', 0)];
  return {
    version: '1.0',
    truncation: { direction: 'Right', max_length: 128, strategy: 'LongestFirst', stride: 0 } as object | null,
    padding: null as object | null,
    added_tokens: PIECES.slice(0, 5).map(special),
    normalizer: {
      type: 'BertNormalizer',
      clean_text: true,
      handle_chinese_chars: true,
      strip_accents: null as boolean | null,
      lowercase: true,
    } as Record<string, unknown> | null,
    pre_tokenizer: { type: 'BertPreTokenizer' } as Record<string, unknown>,
    post_processor: {
      type: 'TemplateProcessing',
      single: single as unknown[],
      pair: [...single, text('B', 1), token('[SEP]', 1)] as unknown[],
      special_tokens: {
        '[CLS]': { id: '[CLS]', ids: [2], tokens: ['[CLS]'] },
        '[SEP]': { id: '[SEP]', ids: [3], tokens: ['[SEP]'] },
      },
    } as Record<string, unknown>,
    decoder: { type: 'WordPiece', prefix: '##', cleanup: true },
    model: {
      type: 'WordPiece',
      unk_token: '[UNK]',
      continuing_subword_prefix: '##',
      max_input_chars_per_word: 100,
      vocab: Object.fromEntries(PIECES.map((piece, id) => [piece, id])) as Record<string, number>,
    } as Record<string, unknown>,
  };
}

export function asFile(tokenizer: unknown): Buffer {
  return Buffer.from(JSON.stringify(tokenizer));
}
