/**
 * The texts that a model is checked with when nobody brings others, and how one's own are read.
 *
 * Each stands for something that goes wrong in silence: lengths up to the window and beyond (FP16 drifts there first), a
 * short one beside a long one (padding), no text at all, scripts, special tokens written out, NUL. They are fewer than 32,
 * so that one batch of the smallest pool holds them all.
 */
import { z } from 'zod';
import { ServingError } from '../errors.ts';

export type LabelledText = { readonly label: string; readonly text: string };
export type LabelledPair = { readonly label: string; readonly query: string; readonly passage: string };

/** Rows of one golden file; a check asks for each of them several times. */
export const MOST_ROWS = 1_024;

/** What is shown of a row; its text never is. */
export const labelSchema = z
  .string()
  .regex(/^[\w .,()>-]{1,80}$/, 'a label has 1 to 80 letters, digits, blanks and . , ( ) > - _');

const PROSE =
  `when the harbour freezes the ferries stop and the island keeps its own time . nobody minds for the first week , there is
bread , there is firewood , and the radio reports the same three facts every hour . in the second week people begin to walk out
on the ice to look at it . a pilot measured 41 centimetres near the lighthouse , twelve more than in 1987 , wrote the number on
a piece of wood and left it standing there , as a warning or as a record : opinions differ`.split(/\s+/);

/** So many words, begun at another place each time, so that no text is the start of another. */
function words(count: number): string {
  return Array.from({ length: count }, (_, index) => PROSE[(index + count) % PROSE.length]).join(' ');
}

const text = (label: string, content: string): LabelledText => ({ label, text: content });
const SCRIPTS: readonly LabelledText[] = [
  text('german', 'Größere Häfen frieren selten zu, außer in sehr kalten Wintern.'),
  text('accents, combining', 'Cafe\u0301 nai\u0308ve, Tie\u0302\u0301ng Vie\u0323\u0302t; the same as Café naïve'),
  text('cjk', '港が凍るとフェリーは止まります。机器学习很有趣。'),
  text('korean', '항구가 얼면 배가 멈춘다'),
  text('cyrillic', 'Когда гавань замерзает, паромы не ходят.'),
  text('arabic', 'عندما يتجمد الميناء تتوقف العبّارات'),
  text('hindi', 'जब बंदरगाह जम जाता है तो नौकाएँ रुक जाती हैं'),
  text('emoji', 'the ferry 🚢 stops, the ice ❄️ does not 👩‍🔬'),
];
const ODD: readonly LabelledText[] = [
  text('upper case', 'THE FERRIES STOP WHEN THE HARBOUR FREEZES'),
  text('code', 'x = [i ** 2 for i in range(10)]; assert sum(x) == 285  # 3.14 % <tag>'),
  text('special tokens written out', 'what does [CLS] mean before [SEP], and [MASK] or [PAD] or <s> in a text'),
  text('NUL and controls', 'ice\u0000 and\u0001 wood\u0000, one\ttab\r\nand a line'),
  text('word of 300 letters', `before ${'icewood'.repeat(43)} after`),
];

/** For an embedder. */
export const defaultTexts: readonly LabelledText[] = [
  text('empty', ''),
  text('blank', ' \t\n '),
  text('one letter', 'a'),
  text('3 words', words(3)),
  ...[8, 16, 32, 64, 128, 256, 380].map((count) => text(`${count} words`, words(count))),
  text('900 words, beyond 512 tokens', words(900)),
  ...SCRIPTS,
  ...ODD,
];

const ICE = 'how thick is the ice in the harbour?';
const BREAD = 'Wo gibt es auf der Insel Brot?';
const pair = (label: string, query: string, passage: string): LabelledPair => ({ label, query, passage });

/** For a reranker: two searches, so that the order of a search can be compared, and pairs at the edges. */
export const defaultPairs: readonly LabelledPair[] = [
  pair('ice > answer', ICE, 'A pilot measured 41 centimetres of ice near the lighthouse in the harbour.'),
  pair('ice > related', ICE, 'When the harbour freezes, the ferries stop.'),
  pair('ice > german', ICE, 'Das Eis im Hafen ist 41 Zentimeter dick.'),
  pair('ice > off topic', ICE, 'The library lends books for four weeks.'),
  pair('ice > empty passage', ICE, ''),
  pair('ice > 64 words', ICE, words(64)),
  pair('ice > 256 words', ICE, words(256)),
  pair('ice > 900 words, beyond 512 tokens', ICE, words(900)),
  ...SCRIPTS.map(({ label, text: passage }) => pair(`bread > ${label}`, BREAD, passage)),
  ...ODD.map(({ label, text: passage }) => pair(`bread > ${label}`, BREAD, passage)),
  pair('empty query', '', 'There is bread, there is firewood.'),
  pair('both empty', '', ''),
];

const ownText = z.strictObject({ label: labelSchema.optional(), text: z.string() });
const ownPair = z.strictObject({ label: labelSchema.optional(), query: z.string(), passage: z.string() });

/** One JSON object a line: `{"text"}`, with a `label` or without. Throws ARGUMENT_INVALID with the line's number. */
export function readTexts(ndjson: string, where: string): LabelledText[] {
  return labelled(readLines(ndjson, where, ownText, '{"text": …}'), 'text', where);
}

/** One JSON object a line: `{"query", "passage"}`, with a `label` or without. */
export function readPairs(ndjson: string, where: string): LabelledPair[] {
  return labelled(readLines(ndjson, where, ownPair, '{"query": …, "passage": …}'), 'pair', where);
}

function readLines<T>(ndjson: string, where: string, schema: z.ZodType<T>, form: string): T[] {
  const rows = ndjson.split('\n').flatMap((line, index) => {
    if (line.trim() === '') return [];
    const parsed = schema.safeParse(jsonOf(line));
    if (parsed.success) return [parsed.data];
    throw new ServingError(
      'ARGUMENT_INVALID',
      `${where}:${index + 1} is no ${form}, with a "label" of letters and digits or without`,
    );
  });
  if (rows.length > 0 && rows.length <= MOST_ROWS) return rows;
  throw new ServingError('ARGUMENT_INVALID', `${where} holds ${rows.length} lines ${form}; give 1 to ${MOST_ROWS}`);
}

function labelled<T extends { readonly label?: string | undefined }>(
  rows: readonly T[],
  noun: string,
  where: string,
): (T & { readonly label: string })[] {
  const all = rows.map((row, index) => ({ ...row, label: row.label ?? `${noun} ${index}` }));
  const labels = all.map(({ label }) => label);
  const twice = labels.find((label, index) => labels.indexOf(label) !== index);
  if (twice === undefined) return all;
  throw new ServingError('ARGUMENT_INVALID', `${where} has the label ${twice} twice`);
}

function jsonOf(line: string): unknown {
  try {
    return JSON.parse(line);
  } catch {
    return undefined;
  }
}
