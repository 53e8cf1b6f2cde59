/** The rows of a graph, run by onnxruntime on token counts: the part that needs no operator library. */
import { InferenceSession, Tensor } from 'onnxruntime-node';
import { describe, expect, it } from 'vitest';
import { addSharedConstants } from '../../../../scripts/export-tokenizer/operators.ts';
import { addPairRows, addTextRows, type Truncation } from '../../../../scripts/export-tokenizer/row-nodes.ts';
import { TOKENS as OUTPUTS } from '../../../../scripts/model-config/tensor-contract.ts';
import { GraphBuilder } from '../../../../scripts/onnx/graph-builder.ts';
import { composeModel, encodeModel } from '../../../../scripts/onnx/model-file.ts';
import { DataType } from '../../../../scripts/onnx/tensors.ts';
import { truncateLongestFirst } from '../../../../src/engine/tokenizer.ts';

const MARKS = { clsId: 2, sepId: 3, padId: 7 };
const TOKENS = { ids: 'ids', begins: 'begins', counts: 'counts' };

function openRows(add: (graph: GraphBuilder) => void): Promise<InferenceSession> {
  const graph = new GraphBuilder('rows');
  addSharedConstants(graph);
  graph.input('ids', DataType.INT64, ['t']);
  graph.input('begins', DataType.INT64, ['n']);
  graph.input('counts', DataType.INT64, ['n']);
  add(graph);
  for (const name of OUTPUTS) graph.output(name, DataType.INT64, ['n', 'w']);
  const options = { irVersion: 9, opsets: { '': 20 }, producer: 'test', producerVersion: '1' };
  // The constant for joined texts belongs to the part that is not here.
  graph.graph.initializer = graph.graph.initializer.filter(({ name }) => name !== 'nothing');
  return InferenceSession.create(encodeModel(composeModel(graph.graph, options)), { logSeverityLevel: 3 });
}

/** Rows of lists of ids; each output as rows. */
async function rows(session: InferenceSession, lists: readonly (readonly number[])[]): Promise<number[][][]> {
  const int64 = (values: readonly number[]) => new Tensor('int64', BigInt64Array.from(values, BigInt), [values.length]);
  let at = 0;
  const begins = lists.map((list) => (at += list.length) - list.length);
  const feeds = { ids: int64([...lists.flat(), 0]), begins: int64(begins), counts: int64(lists.map((l) => l.length)) };
  const outputs = await session.run(feeds);
  return OUTPUTS.map((name) => {
    const { data, dims } = outputs[name]!;
    return Array.from({ length: dims[0]! }, (_, row) =>
      Array.from((data as BigInt64Array).slice(row * dims[1]!, (row + 1) * dims[1]!), Number),
    );
  });
}

describe('rows of texts', () => {
  it('are wrapped, cut and padded to the longest', async () => {
    const session = await openRows((graph) => addTextRows(graph, TOKENS, MARKS, 5));
    expect(await rows(session, [[10, 11], [], [12, 13, 14, 15, 16]])).toEqual([
      [
        [2, 10, 11, 3, 7],
        [2, 3, 7, 7, 7],
        [2, 12, 13, 14, 3],
      ],
      [
        [1, 1, 1, 1, 0],
        [1, 1, 0, 0, 0],
        [1, 1, 1, 1, 1],
      ],
      [
        [0, 0, 0, 0, 0],
        [0, 0, 0, 0, 0],
        [0, 0, 0, 0, 0],
      ],
    ]);
  });
});

describe('rows of pairs', () => {
  const lists = (size: number, first: number) => Array.from({ length: size }, (_, at) => first + at);
  const sizes = Array.from({ length: 13 }, (_, a) => Array.from({ length: 13 }, (_, b) => [a, b] as const)).flat();

  function expected([a, b]: readonly [number, number], room: number, truncation: Truncation): number[] {
    const [query, passage] = [lists(a, 100), lists(b, 200)];
    const pair =
      truncation === 'only_second' && a < room
        ? { a: query, b: passage.slice(0, room - a) }
        : truncateLongestFirst({ a: query, b: passage }, room);
    return [2, ...pair.a, 3, ...pair.b, 3];
  }

  it.each([
    ['longest_first', 10],
    ['longest_first', 11],
    ['only_second', 10],
  ] as const)('every pair of lengths is cut as %s says, to %d tokens', async (truncation, maxTokens) => {
    const session = await openRows((graph) => addPairRows(graph, TOKENS, MARKS, maxTokens, truncation));
    const queries = sizes.map(([a]) => lists(a, 100));
    const passages = sizes.map(([, b]) => lists(b, 200));
    const [ids, mask, types] = await rows(session, [...queries, ...passages]);
    sizes.forEach((size, row) => {
      const wanted = expected(size, maxTokens - 3, truncation);
      const padding = Array.from({ length: ids![row]!.length - wanted.length }, () => 7);
      const second = wanted.length - wanted.indexOf(3) - 1;
      expect(ids![row], `${size}`).toEqual([...wanted, ...padding]);
      expect(mask![row]!.reduce((sum, used) => sum + used, 0)).toBe(wanted.length);
      expect(types![row]!.reduce((sum, type) => sum + type, 0)).toBe(second);
    });
  });

  it('O08: a query longer than the window leaves a passage half of it, whichever way pairs are cut', async () => {
    for (const truncation of ['longest_first', 'only_second'] as const) {
      const session = await openRows((graph) => addPairRows(graph, TOKENS, MARKS, 512, truncation));
      const [ids] = await rows(session, [lists(600, 1_000), lists(400, 5_000)]);
      expect(ids![0]!.filter((id) => id >= 5_000).length).toBe(254);
    }
  });
});
