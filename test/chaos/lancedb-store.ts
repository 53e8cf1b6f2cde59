/** Rows of the sink lancedb, by the library alone. */
import { connect } from '@lancedb/lancedb';
import type { StoredChunk } from './model.ts';
import type { ChaosStore, StoreContents } from './store.ts';

const TABLE = 'chunks';

export class FolderContents implements ChaosStore {
  readonly #folder: string;

  constructor(folder: string) {
    this.#folder = folder;
  }

  async read(): Promise<StoreContents> {
    const connection = await connect(this.#folder);
    try {
      if (!(await connection.tableNames()).includes(TABLE)) return { rows: new Map(), counted: 0 };
      const table = await connection.openTable(TABLE);
      const columns = ['chunk_id', 'document_id', 'version', 'text', 'vector'];
      const found = await table.query().select(columns).toArray();
      const rows = new Map<string, StoredChunk>(found.map((row) => [String(row.chunk_id), chunkOf(row)]));
      // Of two rows with one id the map holds one.
      return { rows, counted: found.length };
    } finally {
      connection.close();
    }
  }

  async close(): Promise<void> {}
}

function chunkOf(row: Record<string, unknown>): StoredChunk {
  const vector = row.vector as { toArray(): ArrayLike<number> & ArrayBufferView };
  const { buffer, byteOffset, byteLength } = vector.toArray();
  return {
    documentId: String(row.document_id),
    version: row.version === null ? undefined : Number(row.version),
    text: String(row.text ?? ''),
    vector: new Uint8Array(buffer, byteOffset, byteLength),
  };
}
