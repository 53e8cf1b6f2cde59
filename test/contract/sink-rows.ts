/** Rows for the sink tests: small vectors whose bits are known, everything else filled in. */
import { createHash } from 'node:crypto';
import type { VectorContract, VectorDtype } from '../../src/kserve/contract.ts';
import { encodeFp16 } from '../../src/kserve/fp16.ts';
import type { Deletion } from '../../src/records/chunk.ts';
import type { SinkRow } from '../../src/sinks/sink.ts';

export const DIMS = 8;

export function contractOf(dtype: VectorDtype = 'FP16', changes: Partial<VectorContract> = {}): VectorContract {
  return { modelName: 'test-embedder', fingerprint: 'fp-one', dims: DIMS, dtype, maxBatch: 256, ...changes };
}

export function vectorOf(values: readonly number[], dtype: VectorDtype = 'FP16'): Uint8Array {
  const floats = Float32Array.from({ length: DIMS }, (_, i) => values[i] ?? 0);
  return dtype === 'FP16' ? encodeFp16(floats) : new Uint8Array(floats.buffer);
}

export type RowChanges = Partial<Omit<SinkRow, 'source'>> & { readonly offset?: bigint; readonly partition?: number };

export function rowOf(chunkId: string, { offset = 0n, partition = 0, ...changes }: RowChanges = {}): SinkRow {
  return {
    chunkId,
    documentId: 'doc',
    tenantId: undefined,
    vector: vectorOf([1]),
    textSha256: createHash('sha256').update(chunkId).digest('hex'),
    text: undefined,
    truncated: false,
    metadata: undefined,
    source: { topic: 'rag.ingestion.chunks', partition, offset },
    version: undefined,
    embeddedAtMs: 1_767_225_600_123,
    ...changes,
  };
}

export function deletionOf(scope: Deletion['scope'], id: string, offset: bigint, partition = 0): Deletion {
  return { scope, id, source: { topic: 'rag.ingestion.chunks', partition, offset } };
}
