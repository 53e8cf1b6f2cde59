/** What to say about indexes when a collection is opened; pure. An index is advised, never made: on a large table it takes hours. */
import { type ElementType, MAX_INDEXED_DIMS, typeName } from './schema.ts';

/** Below this an exact scan takes milliseconds. */
const WORTH_AN_INDEX = 20_000;

export type IndexFacts = {
  readonly rows: number;
  readonly vectorIndexes: readonly string[];
};

export type IndexAdvice = 'none' | 'index missing' | 'index slows writes';

export function indexAdvice({ rows, vectorIndexes }: IndexFacts): IndexAdvice {
  if (vectorIndexes.length > 0) return 'index slows writes';
  return rows < WORTH_AN_INDEX ? 'none' : 'index missing';
}

/** HNSW by cosine. What is too long for an index of its own type is indexed as halfvec, or by its signs. */
export function indexSql(table: string, type: ElementType, dims: number): string {
  const create = `CREATE INDEX CONCURRENTLY ON ${table} USING hnsw`;
  if (dims <= MAX_INDEXED_DIMS[type.element]) return `${create} (vector ${type.element}_cosine_ops)`;
  if (dims <= MAX_INDEXED_DIMS.halfvec) {
    const halfvec = typeName({ ...type, element: 'halfvec' });
    return `${create} ((vector::${halfvec}(${dims})) halfvec_cosine_ops)`;
  }
  return `${create} ((binary_quantize(vector)::bit(${dims})) bit_hamming_ops)`;
}
