/**
 * The part of a graph that lays token ids out as rows: special tokens around them, cut to the limit, padded to the longest
 * row of the batch.
 *
 * Cutting follows Hugging Face. `longest_first` takes from the longer side, so that the shorter one keeps at least half of
 * the room. `only_second` takes from the passage alone; a query that leaves the passage nothing is an error there, and is
 * here cut as by `longest_first`.
 */
import { int } from '../onnx/attributes.ts';
import type { GraphBuilder } from '../onnx/graph-builder.ts';
import { DataType, int64Tensor } from '../onnx/tensors.ts';
import type { TokenNodes } from './text-nodes.ts';
import type { WordPieceTokenizer } from './tokenizer-file.ts';

export const truncations = ['longest_first', 'only_second'] as const;
export type Truncation = (typeof truncations)[number];

type Marks = Pick<WordPieceTokenizer, 'clsId' | 'sepId' | 'padId'>;

/** [CLS] text [SEP] */
export function addTextRows(graph: GraphBuilder, tokens: TokenNodes, marks: Marks, maxTokens: number): void {
  addMarks(graph, marks);
  graph.constant(int64Tensor('room', [maxTokens - 2], []));
  graph.node('Min', [tokens.counts, 'room'], ['count']);
  addPlaces(graph, ['count'], 'two');
  graph.node('Unsqueeze', ['count', 'one_1d'], ['count_column']);
  graph.node('Unsqueeze', [tokens.begins, 'one_1d'], ['begin_column']);
  graph.node('Less', ['place', 'count_column'], ['is_token']);
  graph.node('Equal', ['place', 'count_column'], ['is_sep']);
  graph.node('Add', ['begin_column', 'place'], ['token_at']);
  addRowOutputs(graph, tokens);
  graph.node('Mul', ['INPUT_IDS', 'zero'], ['TOKEN_TYPE_IDS']);
}

/** [CLS] query [SEP] passage [SEP]; the tokens are those of all queries, then of as many passages. */
export function addPairRows(
  graph: GraphBuilder,
  tokens: TokenNodes,
  marks: Marks,
  maxTokens: number,
  truncation: Truncation,
): void {
  addMarks(graph, marks);
  const room = maxTokens - 3;
  const half = Math.floor(room / 2);
  for (const [name, value] of Object.entries({ room, half, other_half: room - half, three: 3 })) {
    graph.constant(int64Tensor(name, [value], []));
  }
  const halves = { attributes: { axis: int(0), num_outputs: int(2) } };
  graph.node('Split', [tokens.begins], ['query_begin', 'passage_begin'], halves);
  graph.node('Split', [tokens.counts], ['query_count', 'passage_count'], halves);
  addCut(graph, truncation);
  addPlaces(graph, ['query', 'passage'], 'three');
  for (const name of ['query', 'passage', 'query_begin', 'passage_begin']) {
    graph.node('Unsqueeze', [name, 'one_1d'], [`${name}_column`]);
  }
  graph.node('Sub', ['place', 'query_column'], ['after_query']);
  graph.node('Sub', ['after_query', 'one'], ['passage_place']);
  graph.node('Less', ['place', 'query_column'], ['is_query']);
  graph.node('Less', ['passage_place', 'passage_column'], ['is_before_end']);
  graph.node('GreaterOrEqual', ['passage_place', 'zero'], ['is_behind_query']);
  graph.node('And', ['is_before_end', 'is_behind_query'], ['is_passage']);
  graph.node('Equal', ['place', 'query_column'], ['is_first_sep']);
  graph.node('Equal', ['passage_place', 'passage_column'], ['is_last_sep']);
  graph.node('Or', ['is_query', 'is_passage'], ['is_token']);
  graph.node('Or', ['is_first_sep', 'is_last_sep'], ['is_sep']);
  graph.node('Add', ['query_begin_column', 'place'], ['query_at']);
  graph.node('Add', ['passage_begin_column', 'passage_place'], ['passage_at']);
  graph.node('Where', ['is_query', 'query_at', 'passage_at'], ['token_at']);
  addRowOutputs(graph, tokens);
  graph.node('Or', ['is_passage', 'is_last_sep'], ['is_second']);
  graph.node('Cast', ['is_second'], ['TOKEN_TYPE_IDS'], { attributes: { to: int(DataType.INT64) } });
}

function addMarks(graph: GraphBuilder, { clsId, sepId, padId }: Marks): void {
  for (const [name, id] of Object.entries({ cls: clsId, sep: sepId, pad: padId })) {
    graph.constant(int64Tensor(name, [id], []));
  }
}

/** How much of `query_count` and `passage_count` stays, as `query` and `passage`. */
function addCut(graph: GraphBuilder, truncation: Truncation): void {
  graph.node('Add', ['query_count', 'passage_count'], ['total']);
  graph.node('Greater', ['total', 'room'], ['is_over']);
  graph.node('Greater', ['query_count', 'passage_count'], ['is_query_longer']);
  graph.node('Min', ['query_count', 'passage_count'], ['shorter']);
  // The longer side gets what the shorter one leaves, but no less than the shorter one; if both do not fit, half each.
  graph.node('Sub', ['room', 'shorter'], ['left_over']);
  graph.node('Max', ['shorter', 'left_over'], ['longer']);
  graph.node('Add', ['shorter', 'longer'], ['both']);
  graph.node('Greater', ['both', 'room'], ['is_halved']);
  graph.node('Where', ['is_halved', 'half', 'shorter'], ['short_cut']);
  graph.node('Where', ['is_halved', 'other_half', 'longer'], ['long_cut']);
  graph.node('Where', ['is_query_longer', 'long_cut', 'short_cut'], ['query_fair']);
  graph.node('Where', ['is_query_longer', 'short_cut', 'long_cut'], ['passage_fair']);
  let [query, passage] = ['query_fair', 'passage_fair'];
  if (truncation === 'only_second') {
    graph.node('Sub', ['room', 'query_count'], ['query_leaves']);
    graph.node('Greater', ['query_leaves', 'zero'], ['leaves_some']);
    query = graph.node('Where', ['leaves_some', 'query_count', query], ['query_first']);
    passage = graph.node('Where', ['leaves_some', 'query_leaves', passage], ['passage_second']);
  }
  graph.node('Where', ['is_over', query, 'query_count'], ['query']);
  graph.node('Where', ['is_over', passage, 'passage_count'], ['passage']);
}

/** `column`: 0 … length of the longest row; `place`: the same, counted from behind [CLS]. */
function addPlaces(graph: GraphBuilder, counts: readonly string[], specials: string): void {
  const [sum] = counts.length === 1 ? counts : [graph.node('Add', counts, ['content'])];
  graph.node('ReduceMax', [sum!], ['longest'], { attributes: { keepdims: int(0) } });
  graph.node('Add', ['longest', specials], ['width']);
  graph.node('Range', ['zero', 'width', 'one'], ['column']);
  graph.node('Sub', ['column', 'one'], ['place']);
}

/** Reads `is_token`, `is_sep` and `token_at`. */
function addRowOutputs(graph: GraphBuilder, { ids }: TokenNodes): void {
  graph.node('Size', [ids], ['id_count']);
  graph.node('Sub', ['id_count', 'one'], ['last_id']);
  graph.node('Max', ['token_at', 'zero'], ['token_from_first']);
  graph.node('Min', ['token_from_first', 'last_id'], ['token_index']);
  graph.node('Gather', [ids, 'token_index'], ['token']);
  graph.node('Equal', ['column', 'zero'], ['is_cls']);
  graph.node('Where', ['is_token', 'token', 'pad'], ['token_or_pad']);
  graph.node('Where', ['is_sep', 'sep', 'token_or_pad'], ['token_or_sep']);
  graph.node('Where', ['is_cls', 'cls', 'token_or_sep'], ['INPUT_IDS']);
  // The place of [CLS] is -1, which is before every count: it is a token as far as the mask goes.
  graph.node('Or', ['is_token', 'is_sep'], ['is_used']);
  graph.node('Cast', ['is_used'], ['ATTENTION_MASK'], { attributes: { to: int(DataType.INT64) } });
}
