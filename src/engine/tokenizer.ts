/**
 * Tokenizer: texts and pairs as token ids, cut to a limit, for a BERT-like encoder.
 *
 * Ids are those of the Rust library `tokenizers`: of @huggingface/tokenizers, WordPiece and special tokens are used, but not
 * what it knows of characters. It applies neither truncation nor padding, and the model's tokenizer.json asks for 128 of
 * both: the limits here are the ones that count. Cutting follows Hugging Face's `longest_first` to the token, so that a pair always
 * keeps at least half of the window for its shorter side (or all of it).
 */
import { Tokenizer } from '@huggingface/tokenizers';
import { z } from 'zod';
import { ServingError } from '../errors.ts';
import type { BertNormalizer } from './bert-characters.ts';
import { BertWords } from './bert-words.ts';

export type Pair = { readonly a: readonly number[]; readonly b: readonly number[] };

const piece = z.union([
  z.object({ SpecialToken: z.object({ id: z.string() }) }),
  z.object({ Sequence: z.object({ id: z.enum(['A', 'B']) }) }),
]);
const tokenizerFile = z.looseObject({
  model: z.looseObject({ type: z.literal('WordPiece') }),
  normalizer: z
    .looseObject({
      type: z.literal('BertNormalizer'),
      clean_text: z.boolean(),
      handle_chinese_chars: z.boolean(),
      strip_accents: z.boolean().nullish(),
      lowercase: z.boolean(),
    })
    .nullish(),
  pre_tokenizer: z.looseObject({ type: z.literal('BertPreTokenizer') }),
  added_tokens: z.array(z.looseObject({ normalized: z.literal(false) })),
  post_processor: z.looseObject({
    type: z.literal('TemplateProcessing'),
    single: z.array(piece),
    special_tokens: z.record(z.string(), z.object({ ids: z.array(z.number().int()) })),
  }),
});

/** Texts up to this many UTF-16 units are tokenized whole; longer ones from the front until the window is full. */
const FIRST_CUT = 8192;

export class TextTokenizer {
  readonly #tokenizer: Tokenizer;
  readonly #words: BertWords;
  readonly #before: readonly number[];
  readonly #after: readonly number[];
  readonly padId: number;

  /** `json`: the parsed tokenizer.json. Throws ENGINE_MODEL_INVALID for a kind of tokenizer that is not known here. */
  constructor(json: unknown) {
    const parsed = tokenizerFile.safeParse(json);
    if (!parsed.success) {
      const where = parsed.error.issues[0]?.path.join('.') ?? 'the top level';
      throw new ServingError(
        'ENGINE_MODEL_INVALID',
        `tokenizer.json is not supported at ${where}: the engine takes WordPiece with BertNormalizer, BertPreTokenizer, TemplateProcessing and added tokens that are not normalized; use a BERT-like embedding model`,
        { cause: parsed.error },
      );
    }
    const { single, special_tokens: special } = parsed.data.post_processor;
    const at = single.findIndex((part) => 'Sequence' in part);
    const idsOf = (parts: typeof single) =>
      parts.flatMap((part) => ('SpecialToken' in part ? (special[part.SpecialToken.id]?.ids ?? []) : []));
    this.#before = idsOf(single.slice(0, at));
    this.#after = idsOf(single.slice(at + 1));
    this.#words = new BertWords(switches(parsed.data.normalizer));
    this.#tokenizer = new Tokenizer(parsed.data, {});
    // Both at once, behind the search for special tokens: text that only normalizing makes look like one is none.
    this.#tokenizer.normalizer = null;
    this.#tokenizer.pre_tokenizer = (text: string) => this.#words.in(text);
    this.padId = this.#tokenizer.token_to_id('[PAD]') ?? 0;
  }

  /** Ids of one text with its special tokens, at most `maxTokens` long. */
  encode(text: string, maxTokens: number): number[] {
    const room = maxTokens - this.#before.length - this.#after.length;
    return this.wrap(this.#contentUpTo(text, room).slice(0, room));
  }

  /** Special tokens around the ids of one text. */
  wrap(content: readonly number[]): number[] {
    return [...this.#before, ...content, ...this.#after];
  }

  /** Both sides of a pair without special tokens, cut so that [CLS] A [SEP] B [SEP] has at most `maxTokens`. */
  encodePair(a: string, b: string, maxTokens: number): Pair {
    const room = maxTokens - this.#before.length - 2 * this.#after.length;
    return truncateLongestFirst({ a: this.#content(a), b: this.#content(b) }, room);
  }

  #content(text: string): number[] {
    return this.#tokenizer.encode(text, { add_special_tokens: false }).ids;
  }

  // A text is tokenized word by word, so a front part that ends where a word does has the same ids as in the whole: 512
  // tokens of a 64 KiB text cost what 512 tokens cost.
  #contentUpTo(text: string, room: number): number[] {
    for (let cut = FIRST_CUT; cut < text.length; cut *= 4) {
      const end = this.#lastWordEnd(text, cut);
      if (end <= 0) continue;
      const ids = this.#content(text.slice(0, end));
      if (ids.length >= room) return ids;
    }
    return this.#content(text);
  }

  // Before a blank, or a Chinese character where each is a word by itself.
  #lastWordEnd(text: string, before: number): number {
    for (let at = before; at > 0; at--) {
      const unit = text.charCodeAt(at);
      const isCandidate = unit === 0x20 || unit === 0x0a || (unit >= 0x4e00 && unit <= 0x9fff);
      if (isCandidate && this.#words.of(text[at]!).startsWith(' ')) return at;
    }
    return -1;
  }
}

/** A file without a normalizer leaves characters as they are. */
function switches(normalizer: z.infer<typeof tokenizerFile>['normalizer']): BertNormalizer {
  return {
    cleanText: normalizer?.clean_text ?? false,
    handleChineseChars: normalizer?.handle_chinese_chars ?? false,
    stripAccents: normalizer?.strip_accents ?? normalizer?.lowercase ?? false,
    lowercase: normalizer?.lowercase ?? false,
  };
}

/** Hugging Face's arithmetic: the shorter side stays whole while it fits in half of the room. */
export function truncateLongestFirst(pair: Pair, room: number): Pair {
  const { a, b } = pair;
  if (a.length + b.length <= room) return pair;
  const swap = a.length > b.length;
  let short = Math.min(a.length, b.length);
  let long = short > room ? short : Math.max(short, room - short);
  if (short + long > room) {
    short = Math.floor(room / 2);
    long = short + (room % 2);
  }
  const [keepA, keepB] = swap ? [long, short] : [short, long];
  return { a: a.slice(0, keepA), b: b.slice(0, keepB) };
}
