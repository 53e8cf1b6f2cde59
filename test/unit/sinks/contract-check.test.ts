import { describe, expect, it } from 'vitest';
import type { VectorContract } from '../../../src/kserve/contract.ts';
import { contractMismatch } from '../../../src/sinks/contract-check.ts';

const model: VectorContract = { modelName: 'bge', fingerprint: 'new', dims: 768, dtype: 'FP16', maxBatch: 8 };
const name = { collection: 'table "x"', setting: 'RAG_SERVING_LANCEDB_TABLE' };

describe('contractMismatch', () => {
  it('accepts the same contract', () => {
    expect(contractMismatch({ fingerprint: 'new', dims: 768, dtype: 'FP16' }, model, name, false)).toBeUndefined();
  });

  it('names both dims, the model and where to put the vectors instead (S06)', () => {
    const error = contractMismatch({ fingerprint: 'new', dims: 1024, dtype: 'FP16' }, model, name, true);
    expect(error?.code).toBe('SINK_SCHEMA_MISMATCH');
    expect(error?.message).toMatch(/table "x".*1024.*bge.*768.*RAG_SERVING_LANCEDB_TABLE/);
  });

  it('refuses another dtype even when mixed fingerprints are allowed', () => {
    expect(contractMismatch({ fingerprint: 'new', dims: 768, dtype: 'FP32' }, model, name, true)?.message).toMatch(
      /FP32.*FP16/,
    );
  });

  it('refuses another fingerprint unless told otherwise', () => {
    const stored = { fingerprint: 'old', dims: 768, dtype: 'FP16' };
    expect(contractMismatch(stored, model, name, false)?.message).toMatch(
      /old.*new.*RAG_SERVING_SINK_ALLOW_MIXED_FINGERPRINTS/,
    );
    expect(contractMismatch(stored, model, name, true)).toBeUndefined();
  });
});
