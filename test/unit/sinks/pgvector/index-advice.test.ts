import { describe, expect, it } from 'vitest';
import { indexAdvice, indexSql } from '../../../../src/sinks/pgvector/index-advice.ts';
import type { ElementType } from '../../../../src/sinks/pgvector/schema.ts';

const halfvec: ElementType = { element: 'halfvec', extensionSchema: 'public', oid: 1 };
const vector: ElementType = { ...halfvec, element: 'vector' };

describe('index advice', () => {
  it('is silent about a small table', () => {
    expect(indexAdvice({ rows: 19_999, vectorIndexes: [] })).toBe('none');
    expect(indexAdvice({ rows: 20_000, vectorIndexes: [] })).toBe('index missing');
  });

  it('says of an index that is there what it costs', () => {
    expect(indexAdvice({ rows: 0, vectorIndexes: ['hnsw'] })).toBe('index slows writes');
  });

  it('knows how many dims an index takes', () => {
    expect(indexSql('t', vector, 2_000)).toMatch(/\(vector vector_cosine_ops\)$/);
    expect(indexSql('t', vector, 2_001)).toMatch(/\(\(vector::"public".halfvec\(2001\)\) halfvec_cosine_ops\)$/);
    expect(indexSql('t', halfvec, 4_000)).toMatch(/\(vector halfvec_cosine_ops\)$/);
    expect(indexSql('t', halfvec, 4_001)).toMatch(/binary_quantize\(vector\)::bit\(4001\)/);
  });
});
