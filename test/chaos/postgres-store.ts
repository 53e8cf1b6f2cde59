/** Rows of the sink pgvector, by SQL. */
import { Client } from 'pg';
import type { ChaosStore, StoreContents } from './store.ts';

export class PostgresContents implements ChaosStore {
  readonly #port: number;

  constructor(port: number) {
    this.#port = port;
  }

  async read(): Promise<StoreContents> {
    const connectionString = `postgres://postgres@127.0.0.1:${this.#port}/postgres`;
    const client = new Client({ connectionString, connectionTimeoutMillis: 5_000, query_timeout: 20_000 });
    client.on('error', () => undefined);
    try {
      await client.connect();
      const sql = 'SELECT chunk_id, document_id, version, text, halfvec_send(vector) AS vector FROM rag_chunks';
      const found = (await client.query<PostgresRow>(sql)).rows.map(({ vector, version, ...row }) => {
        // Four bytes of header, then big-endian halves.
        const bytes = Buffer.from(vector.subarray(4)).swap16();
        const text = row.text ?? '';
        return [
          row.chunk_id,
          { documentId: row.document_id, version: numberOf(version), text, vector: bytes },
        ] as const;
      });
      return { rows: new Map(found), counted: found.length };
    } finally {
      await client.end().catch(() => undefined);
    }
  }

  async close(): Promise<void> {}
}

type PostgresRow = {
  readonly chunk_id: string;
  readonly document_id: string;
  readonly version: string | null;
  readonly text: string | null;
  readonly vector: Buffer;
};

function numberOf(version: string | null): number | undefined {
  return version === null ? undefined : Number(version);
}
