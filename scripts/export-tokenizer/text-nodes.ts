/**
 * The part of a graph that makes token ids of texts, without special tokens around them and without a limit.
 *
 * Characters are taken apart row by row in a Loop: done for all rows at once, a batch would cost as much as if every text
 * were as long as its longest. The library's operators end a text at NUL, so NUL goes first.
 */
import {
  graph as graphAttribute,
  int,
  ints,
  text as textAttribute,
  texts as textsAttribute,
} from '../onnx/attributes.ts';
import { GraphBuilder, sequenceInfo } from '../onnx/graph-builder.ts';
import { boolTensor, DataType, int64Tensor, stringTensor } from '../onnx/tensors.ts';
import { type CharacterTable, literalCharacter, UNKNOWN_CHARACTER } from './character-table.ts';
import { EXTENSIONS, MICROSOFT, ML, replaceAll } from './operators.ts';
import { CONTINUATION, type WordPieceTokenizer } from './tokenizer-file.ts';

/** A character that every normalizer takes out, if it takes out any. */
const REMOVED = '\u200b';
/** Marks the end of a text while NULs are replaced. */
const END = '\u{10fffd}';

/** Names of tensors: one list of ids, and where each text's ids begin in it and how many they are. */
export type TokenNodes = { readonly ids: string; readonly begins: string; readonly counts: string };

/** `texts` is the name of a string tensor [N]. The ids have one more at the end, so that the list is never empty. */
export function addTokenNodes(
  graph: GraphBuilder,
  texts: string,
  tokenizer: WordPieceTokenizer,
  table: CharacterTable,
): TokenNodes {
  const printable = addNulNodes(graph, texts, tokenizer.normalizer.cleanText);
  const marked = addLiteralNodes(graph, printable, tokenizer);
  const normalized = addCharacterLoop(graph, marked, table);
  return addPieceNodes(graph, normalized, tokenizer, table);
}

/** NUL is taken out, or makes its word unknown where control characters stay. It still parts a special token's text. */
function addNulNodes(graph: GraphBuilder, texts: string, cleanText: boolean): string {
  if (!cleanText) graph.constant(stringTensor('end', [END], [1]));
  graph.constant(stringTensor('nul_by', [cleanText ? REMOVED : UNKNOWN_CHARACTER], [1]));
  const ended = cleanText ? texts : graph.node('StringConcat', [texts, 'end'], ['ended']);
  graph.node('StringSplit', [ended], ['parts', 'part_counts'], { attributes: { delimiter: textAttribute('\0') } });
  graph.node('StringJoin', ['parts', 'nul_by', 'one_1d'], ['joined'], { domain: EXTENSIONS });
  // Rows with fewer NULs than others are padded with empty parts, which the join puts separators between.
  return cleanText ? 'joined' : replaceAll(graph, 'joined', 'unended', `\\x{10FFFD}\\x{E000}*$`, '');
}

/** Each special token becomes one character of private use, which is taken out of the texts before. */
function addLiteralNodes(graph: GraphBuilder, texts: string, { literals, normalizer }: WordPieceTokenizer): string {
  const area = '[\\x{E000}-\\x{F8FF}\\x{F0000}-\\x{FFFFD}\\x{100000}-\\x{10FFFD}]';
  const start = replaceAll(graph, texts, 'public', area, normalizer.cleanText ? REMOVED : UNKNOWN_CHARACTER);
  return literals.reduce(
    (from, { text }, index) => replaceAll(graph, from, `literal_${index}`, quoted(text), literalCharacter(index)),
    start,
  );
}

function quoted(text: string): string {
  return text.replace(/[^\p{L}\p{N}]/gu, (char) => `\\x{${char.codePointAt(0)!.toString(16)}}`);
}

function addCharacterLoop(graph: GraphBuilder, texts: string, { characters }: CharacterTable): string {
  const body = new GraphBuilder('normalize_one_text');
  body.input('row', DataType.INT64, []);
  body.input('going_on', DataType.BOOL, []);
  body.graph.input.push(sequenceInfo('done_before', DataType.STRING));
  body.node('Gather', ['filled', 'row'], ['text']);
  body.node('Reshape', ['text', 'one_1d'], ['text_1d']);
  body.node('Tokenizer', ['text_1d'], ['characters'], {
    domain: MICROSOFT,
    attributes: {
      mark: int(0),
      mincharnum: int(1),
      pad_value: textAttribute(''),
      separators: textsAttribute(['']),
    },
  });
  body.node('LabelEncoder', ['characters'], ['words'], {
    domain: ML,
    attributes: {
      keys_strings: textsAttribute([...characters.keys()]),
      values_strings: textsAttribute([...characters.values()]),
      default_string: textAttribute(UNKNOWN_CHARACTER),
    },
  });
  body.node('StringJoin', ['words', 'nothing', 'one_1d'], ['normalized_text'], { domain: EXTENSIONS });
  body.node('Identity', ['going_on'], ['still_going_on']);
  body.output('still_going_on', DataType.BOOL, []);
  body.node('SequenceInsert', ['done_before', 'normalized_text'], ['done']);
  body.graph.output.push(sequenceInfo('done', DataType.STRING));

  graph.constant(stringTensor('blank', [' '], [1]));
  graph.constant(boolTensor('yes', [true], []));
  // Tokenizer refuses an empty text; a blank at the end changes nothing.
  graph.node('StringConcat', [texts, 'blank'], ['filled']);
  graph.node('Size', ['filled'], ['rows']);
  // A sequence, since onnxruntime's Loop up to 1.22 at least puts plain string outputs together byte by byte, which
  // leaves two owners of one string.
  graph.node('SequenceEmpty', [], ['none_done'], { attributes: { dtype: int(DataType.STRING) } });
  graph.node('Loop', ['rows', 'yes', 'none_done'], ['all_done'], { attributes: { body: graphAttribute(body.graph) } });
  return graph.node('ConcatFromSequence', ['all_done'], ['normalized'], { attributes: { axis: int(0) } });
}

/**
 * Longest match first, then the rule that one unknown character makes the whole word unknown: pieces of such a word are
 * replaced by one unknown token. The operator itself would keep the pieces before that character.
 */
function addPieceNodes(
  graph: GraphBuilder,
  texts: string,
  { maxWordChars, unknownToken, unknownId }: WordPieceTokenizer,
  { pieces }: CharacterTable,
): TokenNodes {
  const names = [...pieces.keys()];
  graph.constant(int64Tensor('no_rows', [], [0]));
  graph.node('WordpieceTokenizer', [texts, 'no_rows'], ['pieces', 'row_lengths', 'first_piece', 'piece_limit'], {
    domain: EXTENSIONS,
    attributes: {
      vocab: textAttribute(JSON.stringify(Object.fromEntries(names.map((name, index) => [name, index])))),
      suffix_indicator: textAttribute(CONTINUATION),
      unknown_token: textAttribute(unknownToken),
      max_input_chars_per_word: int(maxWordChars),
    },
  });
  graph.node('LabelEncoder', ['pieces'], ['piece_codes'], {
    domain: ML,
    attributes: {
      keys_strings: textsAttribute(names),
      values_int64s: ints([...pieces.values()]),
      default_int64: int(2 * unknownId),
    },
  });
  graph.constant(int64Tensor('unknown_id', [unknownId], []));
  graph.node('Concat', ['piece_codes', 'zero_1d'], ['codes'], { attributes: { axis: int(0) } });
  graph.node('Mod', ['codes', 'two'], ['continues']);
  graph.node('Sub', ['one', 'continues'], ['starts']);
  graph.node('CumSum', ['starts', 'zero'], ['word']);
  graph.node('Less', ['codes', 'zero'], ['is_bad']);
  graph.node('Cast', ['is_bad'], ['bad'], { attributes: { to: int(DataType.INT64) } });
  graph.node('Shape', ['codes'], ['code_count']);
  graph.node('Add', ['code_count', 'one_1d'], ['word_room']);
  graph.node('Expand', ['zero', 'word_room'], ['no_bad_word']);
  graph.node('ScatterElements', ['no_bad_word', 'word', 'bad'], ['bad_words'], {
    attributes: { reduction: textAttribute('max') },
  });
  graph.node('Gather', ['bad_words', 'word'], ['in_bad_word']);
  graph.node('Cast', ['in_bad_word'], ['is_in_bad_word'], { attributes: { to: int(DataType.BOOL) } });
  graph.node('Div', ['codes', 'two'], ['piece_ids']);
  graph.node('Where', ['is_in_bad_word', 'unknown_id', 'piece_ids'], ['ids_of_pieces']);
  // Of an unknown word its first piece stays.
  graph.node('Sub', ['one', 'in_bad_word'], ['in_good_word']);
  graph.node('Max', ['in_good_word', 'starts'], ['kept']);
  graph.node('Cast', ['kept'], ['is_kept'], { attributes: { to: int(DataType.BOOL) } });
  graph.node('Compress', ['ids_of_pieces', 'is_kept'], ['ids'], { attributes: { axis: int(0) } });
  graph.node('CumSum', ['kept', 'zero'], ['kept_before'], { attributes: { exclusive: int(1) } });
  graph.node('Gather', ['kept_before', 'first_piece'], ['begins']);
  graph.node('Gather', ['kept_before', 'piece_limit'], ['limits']);
  graph.node('Sub', ['limits', 'begins'], ['counts']);
  return { ids: 'ids', begins: 'begins', counts: 'counts' };
}
