/**
 * A BERT in miniature for the export's tests: one layer, one head, a dozen dimensions, weights by a fixed formula, its
 * LayerNorm in pieces as older exporters write it. It has every trait that FP16 stumbles over and runs in a millisecond.
 */
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import * as attribute from '../../../../scripts/onnx/attributes.ts';
import type { ModelProto } from '../../../../scripts/onnx/gen/onnx_pb.ts';
import { GraphBuilder } from '../../../../scripts/onnx/graph-builder.ts';
import { composeModel, writeModelFile } from '../../../../scripts/onnx/model-file.ts';
import { DataType, float32Tensor, int64Tensor } from '../../../../scripts/onnx/tensors.ts';

export const TINY_DIMS = 12;
const LETTERS = 'abcdefghijklmnopqrstuvwxyz0123456789'.split('');
const VOCABULARY = ['[PAD]', '[UNK]', '[CLS]', '[SEP]', '.', ...LETTERS, ...LETTERS.map((letter) => `##${letter}`)];

export type TinyOptions = {
  readonly opset?: number;
  /** Factor of LayerNorm's gain: 1e4 and more overflows FP16 in the product that follows. */
  readonly gain?: number;
  /** What stands for minus infinity in the attention mask. */
  readonly mask?: number;
  /** Logits of a classifier; hidden states when undefined. */
  readonly labels?: number;
  /** Names of the inputs, where they are not the usual ones. */
  readonly names?: { readonly input_ids: string; readonly attention_mask: string };
  readonly inputType?: typeof DataType.INT64 | typeof DataType.INT32;
  /** Rows of a table of positions; none when undefined. */
  readonly positions?: number;
  /** An input token_type_ids with its table. */
  readonly tokenTypes?: true;
};

export function tinyEncoder(options: TinyOptions = {}): ModelProto {
  const { opset = 17, gain = 1, mask = -3.4028234663852886e38, inputType = DataType.INT64 } = options;
  const { input_ids: ids, attention_mask: attended } = options.names ?? {
    input_ids: 'input_ids',
    attention_mask: 'attention_mask',
  };
  const builder = new GraphBuilder('tiny');
  builder.input(ids, inputType, ['batch', 'sequence']);
  builder.input(attended, inputType, ['batch', 'sequence']);
  const weight = (name: string, rows: number, columns: number) => {
    const values = Array.from({ length: rows * columns }, (_, i) => Math.sin(i * 1.7 + name.length) * 0.6);
    return builder.constant(float32Tensor(name, values, [rows, columns]));
  };
  const scalar = (name: string, value: number) => builder.constant(float32Tensor(name, [value], []));

  let embedded = builder.node('Gather', [weight('words', VOCABULARY.length, TINY_DIMS), ids], ['embedded']);
  if (options.positions !== undefined) {
    const whole = (name: string, value: number) => builder.constant(int64Tensor(`positions/${name}`, [value], []));
    builder.node('Shape', [ids], ['positions/sizes']);
    builder.node('Gather', ['positions/sizes', whole('one', 1)], ['positions/length']);
    builder.node('Range', [whole('from', 0), 'positions/length', whole('step', 1)], ['positions/index']);
    builder.node('Gather', [weight('places', options.positions, TINY_DIMS), 'positions/index'], ['positions/rows']);
    embedded = builder.node('Add', [embedded, 'positions/rows'], ['embedded/placed']);
  }
  if (options.tokenTypes === true) {
    builder.input('token_type_ids', inputType, ['batch', 'sequence']);
    builder.node('Gather', [weight('kinds', 2, TINY_DIMS), 'token_type_ids'], ['kinds/rows']);
    embedded = builder.node('Add', [embedded, 'kinds/rows'], ['embedded/typed']);
  }
  layerNorm(builder, opset, embedded, 'first', 1, scalar);
  builder.node('Cast', [attended], ['mask/float'], { attributes: { to: attribute.int(DataType.FLOAT) } });
  builder.node('Sub', [scalar('one', 1), 'mask/float'], ['mask/absent']);
  builder.node('Mul', ['mask/absent', scalar('mask/minus', mask)], ['mask/row']);
  const shape = builder.constant(int64Tensor('mask/shape', [0, 1, -1], [3]));
  builder.node('Reshape', ['mask/row', shape], ['mask/bias']);
  for (const name of ['q', 'k', 'v']) {
    builder.node('MatMul', ['first/out', weight(`w${name}`, TINY_DIMS, TINY_DIMS)], [name]);
  }
  builder.node('Transpose', ['k'], ['kT'], { attributes: { perm: attribute.ints([0, 2, 1]) } });
  builder.node('MatMul', ['q', 'kT'], ['scores']);
  builder.node('Add', ['scores', 'mask/bias'], ['scores/masked']);
  builder.node('Softmax', ['scores/masked'], ['attention'], { attributes: { axis: attribute.int(-1) } });
  builder.node('MatMul', ['attention', 'v'], ['context']);
  builder.node('Add', ['context', 'first/out'], ['residual']);
  layerNorm(builder, opset, 'residual', 'second', gain, scalar);
  builder.node('MatMul', ['second/out', weight('dense', TINY_DIMS, TINY_DIMS)], ['last_hidden_state']);
  if (options.labels === undefined) {
    builder.output('last_hidden_state', DataType.FLOAT, ['batch', 'sequence', TINY_DIMS]);
  } else {
    const first = builder.constant(int64Tensor('first/token', [0], []));
    builder.node('Gather', ['last_hidden_state', first], ['cls'], { attributes: { axis: attribute.int(1) } });
    builder.node('MatMul', ['cls', weight('head', TINY_DIMS, options.labels)], ['logits']);
    builder.output('logits', DataType.FLOAT, ['batch', options.labels]);
  }
  return composeModel(builder.graph, {
    irVersion: opset < 13 ? 6 : 8,
    opsets: { '': opset },
    producer: 'test',
    producerVersion: '1',
  });
}

function layerNorm(
  builder: GraphBuilder,
  opset: number,
  input: string,
  name: string,
  gain: number,
  scalar: (name: string, value: number) => string,
): void {
  const mean = (from: string, into: string) => {
    const keepdims = attribute.int(1);
    if (opset < 18) {
      builder.node('ReduceMean', [from], [into], { attributes: { axes: attribute.ints([-1]), keepdims } });
    } else {
      const axes = builder.constant(int64Tensor(`${into}/axes`, [-1], [1]));
      builder.node('ReduceMean', [from, axes], [into], { attributes: { keepdims } });
    }
  };
  const row = (suffix: string, value: number) =>
    builder.constant(float32Tensor(`${name}/${suffix}`, Array<number>(TINY_DIMS).fill(value), [TINY_DIMS]));
  mean(input, `${name}/mean`);
  builder.node('Sub', [input, `${name}/mean`], [`${name}/centred`]);
  builder.node('Pow', [`${name}/centred`, scalar(`${name}/two`, 2)], [`${name}/squares`]);
  mean(`${name}/squares`, `${name}/variance`);
  builder.node('Add', [`${name}/variance`, scalar(`${name}/epsilon`, 1e-12)], [`${name}/safe`]);
  builder.node('Sqrt', [`${name}/safe`], [`${name}/deviation`]);
  builder.node('Div', [`${name}/centred`, `${name}/deviation`], [`${name}/unit`]);
  builder.node('Mul', [`${name}/unit`, row('gamma', gain)], [`${name}/scaled`]);
  builder.node('Add', [`${name}/scaled`, row('beta', 0.1)], [`${name}/out`]);
}

/** Writes model.onnx, tokenizer.json and config.json. */
export async function writeTinyModel(
  folder: string,
  model: ModelProto,
  config: Readonly<Record<string, unknown>> = {},
): Promise<void> {
  await mkdir(folder, { recursive: true });
  await writeModelFile(join(folder, 'model.onnx'), model);
  await writeFile(join(folder, 'tokenizer.json'), JSON.stringify(tinyTokenizer()));
  const full = { hidden_size: TINY_DIMS, max_position_embeddings: 512, model_type: 'bert', pad_token_id: 0, ...config };
  await writeFile(join(folder, 'config.json'), JSON.stringify(full));
}

function tinyTokenizer(): unknown {
  const special = (content: string, id: number) => ({ [content]: { id: content, ids: [id], tokens: [content] } });
  const cls = { SpecialToken: { id: '[CLS]', type_id: 0 } };
  const sep = (type: number) => ({ SpecialToken: { id: '[SEP]', type_id: type } });
  const text = (id: 'A' | 'B', type: number) => ({ Sequence: { id, type_id: type } });
  return {
    version: '1.0',
    added_tokens: ['[PAD]', '[UNK]', '[CLS]', '[SEP]'].map((content, id) => ({
      ...{ id, content, special: true, single_word: false, lstrip: false, rstrip: false, normalized: false },
    })),
    normalizer: { type: 'BertNormalizer', clean_text: true, handle_chinese_chars: true, lowercase: true },
    pre_tokenizer: { type: 'BertPreTokenizer' },
    post_processor: {
      type: 'TemplateProcessing',
      single: [cls, text('A', 0), sep(0)],
      pair: [cls, text('A', 0), sep(0), text('B', 1), sep(1)],
      special_tokens: { ...special('[CLS]', 2), ...special('[SEP]', 3) },
    },
    decoder: { type: 'WordPiece', prefix: '##', cleanup: true },
    model: {
      type: 'WordPiece',
      unk_token: '[UNK]',
      continuing_subword_prefix: '##',
      max_input_chars_per_word: 100,
      vocab: Object.fromEntries(VOCABULARY.map((token, id) => [token, id])),
    },
  };
}
