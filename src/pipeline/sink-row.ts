/** From an embedded chunk to the row that a store gets. */
import { createHash } from 'node:crypto';
import type { ChunkInFlight } from '../records/travel.ts';
import type { SinkRow } from '../sinks/sink.ts';

type Embedded = Pick<ChunkInFlight, 'chunk' | 'retry'>;

export function sinkRow(
  { chunk, retry }: Embedded,
  vector: Uint8Array,
  storeText: boolean,
  embeddedAtMs: number,
): SinkRow {
  return {
    chunkId: chunk.chunkId,
    documentId: chunk.documentId,
    tenantId: chunk.tenantId,
    vector,
    textSha256: createHash('sha256').update(chunk.text, 'utf8').digest('hex'),
    text: storeText ? chunk.text : undefined,
    truncated: chunk.truncated,
    metadata: chunk.metadata,
    source: chunk.source,
    version: chunk.version,
    embeddedAtMs,
    ...(retry === undefined ? {} : { handedOver: true }),
  };
}
