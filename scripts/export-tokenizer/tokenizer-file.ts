/**
 * tokenizer.json, checked to be of the kind that a graph can follow exactly: BERT's WordPiece.
 *
 * Whatever would be tokenized even slightly otherwise is refused by its name, all of it at once. The file's own limits of
 * length and padding are read over: exports of sentence encoders often hold 128, and the caller says which counts.
 */
import { createHash } from 'node:crypto';
import { z } from 'zod';
import type { BertNormalizer } from '../../src/engine/bert-characters.ts';
import { ServingError } from '../../src/errors.ts';

/** A special token that is recognised where it stands in a text, before anything else is done to it. */
export type Literal = { readonly text: string; readonly id: number };

export type WordPieceTokenizer = {
  readonly sha256: string;
  readonly vocabulary: ReadonlyMap<string, number>;
  readonly unknownToken: string;
  readonly unknownId: number;
  readonly maxWordChars: number;
  readonly normalizer: BertNormalizer;
  readonly literals: readonly Literal[];
  readonly clsId: number;
  readonly sepId: number;
  readonly padId: number;
};

export const CONTINUATION = '##';

const kind = z.looseObject({ type: z.string() }).nullish();
const outline = z.looseObject({ model: kind, normalizer: kind, pre_tokenizer: kind, post_processor: kind });

const id = z
  .number()
  .int()
  .min(0)
  .max(2 ** 31 - 1);
const file = z.looseObject({
  model: z.looseObject({
    vocab: z.record(z.string(), id),
    unk_token: z.string(),
    continuing_subword_prefix: z.literal(CONTINUATION),
    max_input_chars_per_word: z.number().int().min(1),
  }),
  normalizer: z.looseObject({
    clean_text: z.boolean(),
    handle_chinese_chars: z.boolean(),
    strip_accents: z.boolean().nullish(),
    lowercase: z.boolean(),
  }),
  added_tokens: z.array(
    z.looseObject({
      id,
      content: z.string().min(1),
      single_word: z.literal(false),
      lstrip: z.literal(false),
      rstrip: z.literal(false),
      normalized: z.literal(false),
    }),
  ),
  truncation: z.looseObject({ direction: z.literal('Right').optional() }).nullish(),
  padding: z.looseObject({ direction: z.literal('Right').optional(), pad_id: id, pad_type_id: z.literal(0) }).nullish(),
});

/** The kinds of parts that are followed; a file names the kind of each. */
const KINDS = {
  model: ['WordPiece'],
  normalizer: ['BertNormalizer'],
  pre_tokenizer: ['BertPreTokenizer'],
  post_processor: ['TemplateProcessing', 'BertProcessing'],
} as const;

/** `name` is what a message calls the file. Throws ENGINE_MODEL_INVALID naming everything that cannot be exact. */
export function readTokenizer(content: Uint8Array, name: string): WordPieceTokenizer {
  const json = parse(content, name);
  refuse(name, kindProblems(json));
  const parsed = file.safeParse(json);
  if (!parsed.success) refuse(name, parsed.error.issues.map(issueText));
  const { model, normalizer, added_tokens: added, padding } = parsed.data!;
  const vocabulary = new Map(Object.entries(model.vocab));
  const idOf = (token: string) => added.find(({ content: text }) => text === token)?.id ?? vocabulary.get(token);
  const unknownId = vocabulary.get(model.unk_token);
  const padId = padding?.pad_id ?? idOf('[PAD]');
  const wrapping = wrappingTokens(json.post_processor);
  const literals = added.map(({ content: text, id: literal }) => ({ text, id: literal }));
  refuse(name, [
    ...(unknownId === undefined ? [`its vocabulary has no unknown token ${model.unk_token}`] : []),
    ...(padId === undefined ? ['it names no padding token, and has no [PAD]'] : []),
    ...(typeof wrapping === 'string' ? [wrapping] : []),
    ...overlaps(literals),
    ...literals
      .filter(({ text, id: literal }) => (vocabulary.get(text) ?? literal) !== literal)
      .map(({ text }) => `its added token ${text} has another id than in the vocabulary`),
  ]);
  return {
    sha256: createHash('sha256').update(content).digest('hex'),
    vocabulary,
    unknownToken: model.unk_token,
    unknownId: unknownId!,
    maxWordChars: model.max_input_chars_per_word,
    normalizer: {
      cleanText: normalizer.clean_text,
      handleChineseChars: normalizer.handle_chinese_chars,
      stripAccents: normalizer.strip_accents ?? normalizer.lowercase,
      lowercase: normalizer.lowercase,
    },
    literals,
    ...(wrapping as { clsId: number; sepId: number }),
    padId: padId!,
  };
}

/** Throws ENGINE_MODEL_INVALID for a file that describes no tokenizer at all. */
export function checkIsTokenizer(content: Uint8Array, name: string): void {
  parse(content, name);
}

function parse(content: Uint8Array, name: string): z.infer<typeof outline> {
  let json: unknown;
  try {
    json = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(content));
  } catch (cause) {
    throw new ServingError('ENGINE_MODEL_INVALID', `${name} is not JSON in UTF-8`, { cause });
  }
  const parsed = outline.safeParse(json);
  if (parsed.success && parsed.data.model != null) return parsed.data;
  throw new ServingError('ENGINE_MODEL_INVALID', `${name} is no tokenizer.json: it describes no model`);
}

function refuse(name: string, problems: readonly string[]): void {
  if (problems.length === 0) return;
  throw new ServingError(
    'ENGINE_MODEL_INVALID',
    `${name} cannot become an exact graph: ${problems.join('; ')}. ` +
      'With --backend python the tokenizer runs as it is, in Triton’s python backend',
  );
}

function kindProblems(json: z.infer<typeof outline>): string[] {
  const parts = Object.entries(KINDS) as [keyof typeof KINDS, readonly string[]][];
  return parts
    .filter(([part, known]) => !known.includes(json[part]?.type ?? 'none'))
    .map(([part, known]) => `its ${part} is ${kindName(json[part])}, not ${known.join(' or ')}`);
}

function kindName(part: z.infer<typeof kind>): string {
  if (part == null) return 'none';
  const members = part.type === 'Sequence' ? (part.normalizers ?? part.pretokenizers ?? part.processors) : undefined;
  if (!Array.isArray(members)) return part.type;
  return `Sequence(${members.map((member: { type?: unknown }) => String(member?.type)).join(', ')})`;
}

function issueText(issue: z.core.$ZodIssue): string {
  return `its ${issue.path.join('.')} is not supported (${issue.message})`;
}

const template = z.object({
  single: z.array(z.unknown()),
  pair: z.array(z.unknown()),
  special_tokens: z.record(z.string(), z.looseObject({ ids: z.array(id) })),
});
const bert = z.object({ sep: z.tuple([z.string(), id]), cls: z.tuple([z.string(), id]) });

/** Ids before and after a text, or what is wrong. A text is `cls A sep` of type 0, a pair adds `B sep` of type 1. */
function wrappingTokens(processor: z.infer<typeof kind>): { clsId: number; sepId: number } | string {
  if (processor?.type === 'BertProcessing') {
    const parsed = bert.safeParse(processor);
    if (parsed.success) return { clsId: parsed.data.cls[1], sepId: parsed.data.sep[1] };
    return 'its post_processor names no cls and sep';
  }
  const parsed = template.safeParse(processor);
  if (!parsed.success) return 'its post_processor has no templates';
  const { single, pair, special_tokens: special } = parsed.data;
  const [cls, sep] = [single[0], single.at(-1)].map(
    (part) => (part as { SpecialToken?: { id?: string } } | undefined)?.SpecialToken?.id ?? '',
  ) as [string, string];
  const piece = (name: string, type: number) => ({ SpecialToken: { id: name, type_id: type } });
  const text = (name: string, type: number) => ({ Sequence: { id: name, type_id: type } });
  const one = [piece(cls, 0), text('A', 0), piece(sep, 0)];
  const two = [...one, text('B', 1), piece(sep, 1)];
  if (!same(single, one) || !same(pair, two)) {
    return 'its post_processor wraps otherwise than [CLS] A [SEP] B [SEP] with types 0 and 1';
  }
  const [clsIds, sepIds] = [special[cls]?.ids, special[sep]?.ids];
  if (clsIds?.length !== 1 || sepIds?.length !== 1) return 'its post_processor has a special token that is not one id';
  return { clsId: clsIds[0]!, sepId: sepIds[0]! };
}

function same(value: readonly unknown[], wanted: readonly object[]): boolean {
  const sorted = (_: string, part: unknown) =>
    part !== null && typeof part === 'object' && !Array.isArray(part)
      ? Object.fromEntries(Object.entries(part).sort(([a], [b]) => (a < b ? -1 : 1)))
      : part;
  return JSON.stringify(value, sorted) === JSON.stringify(wanted, sorted);
}

/** Literals are looked for one after the other, which is the same as all at once only while no two can touch the same text. */
function overlaps(literals: readonly Literal[]): string[] {
  const meets = (a: string, b: string) =>
    a.includes(b) || Array.from(a, (_, at) => a.slice(at)).some((end) => end !== '' && b.startsWith(end));
  return literals.flatMap(({ text: a }, at) =>
    literals
      .filter(({ text: b }, other) => other > at && (meets(a, b) || meets(b, a)))
      .map(({ text: b }) => `its added tokens ${a} and ${b} overlap`),
  );
}
