/**
 * The tables that a model looks tokens and their positions up in: their rows say which ids and how long an input it can take.
 *
 * A position is told from a token type by where its index comes from, something that counts (Range, CumSum, or a constant
 * 0, 1, 2 …), and from a bucket of relative positions by its width, which is that of the words. A model whose positions are
 * no table (rotary, ALiBi), or hidden better than that, has none here.
 */
import {
  TensorProto_DataType as DataType,
  type GraphProto,
  type NodeProto,
  type TensorProto,
} from '../../onnx/gen/onnx_pb.ts';
import { readsOf } from './tensor-walk.ts';
import type { ValueType } from './value-types.ts';

export type EmbeddingTables = {
  /** Rows of the table of words. */
  readonly vocabulary?: number;
  /** Rows of the smallest table of positions. Some models leave their first rows unused, so this is an upper bound of tokens. */
  readonly positions?: number;
};

const COUNTING = new Set(['Range', 'CumSum']);
const SIZES = new Set(['Shape', 'Size']);
/** A shorter constant 0, 1, … is a list of axes. */
const SHORTEST_COUNT = 8;

export function embeddingTables(graph: GraphProto, types: ReadonlyMap<string, ValueType>): EmbeddingTables {
  const constants = new Map(graph.initializer.map((tensor) => [tensor.name, tensor]));
  const words = valuesFrom(graph, ['input_ids'], () => false);
  const counts = valuesFrom(
    graph,
    [...constants.values()].filter(countsUp).map(({ name }) => name),
    ({ opType, attribute }) => COUNTING.has(opType) || attribute.some(({ t }) => t !== undefined && countsUp(t)),
  );
  const inputs = valuesFrom(
    graph,
    graph.input.map(({ name }) => name),
    () => false,
  );
  const tables = graph.node.flatMap((node) => {
    const [table, index] = node.input;
    if (node.opType !== 'Gather' || table === undefined || index === undefined || inputs.has(table)) return [];
    const size = sizeOf(table);
    const axis = node.attribute.find(({ name }) => name === 'axis')?.i ?? 0n;
    return size === undefined || axis !== 0n ? [] : [{ ...size, index }];
  });
  const word = tables.find(({ index }) => words.has(index) && !counts.has(index));
  const rows = tables
    .filter(({ columns, index }) => columns === word?.columns && counts.has(index))
    .map((one) => one.rows);
  return {
    ...(word !== undefined && { vocabulary: word.rows }),
    ...(rows.length > 0 && { positions: Math.min(...rows) }),
  };

  function sizeOf(name: string): { readonly rows: number; readonly columns: number } | undefined {
    const shape = constants.get(name)?.dims.map(Number) ?? types.get(name)?.shape ?? [];
    const [rows, columns] = shape;
    return shape.length === 2 && typeof rows === 'number' && typeof columns === 'number'
      ? { rows, columns }
      : undefined;
  }
}

/** What follows from these values, or from a node that is an origin itself. A size says nothing of the values it is the size of. */
function valuesFrom(
  graph: GraphProto,
  names: readonly string[],
  isOrigin: (node: NodeProto) => boolean,
): ReadonlySet<string> {
  const found = new Set(names);
  for (const node of graph.node) {
    const follows = !SIZES.has(node.opType) && readsOf(node).some((name) => found.has(name));
    if (!follows && !isOrigin(node)) continue;
    for (const name of node.output) found.add(name);
  }
  return found;
}

function countsUp({ dataType, rawData, int64Data }: TensorProto): boolean {
  if (dataType !== DataType.INT64) return false;
  const values = rawData.length === 0 ? int64Data : Array.from(new BigInt64Array(Uint8Array.from(rawData).buffer));
  return values.length >= SHORTEST_COUNT && values.every((value, at) => at === 0 || value === values[at - 1]! + 1n);
}
