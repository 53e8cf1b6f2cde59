/** The address in a PostgreSQL URL, or the error that names the setting it came from. */
import { judgePostgresUrl, type PostgresAddress } from '../../config/postgres-url.ts';
import { ServingError } from '../../errors.ts';

export function parsePostgresUrl(raw: string, setting = 'RAG_SERVING_PGVECTOR_URL'): PostgresAddress {
  const judged = judgePostgresUrl(raw);
  if (judged.ok) return judged.value;
  throw new ServingError('CONFIG_INVALID', `${setting} ${judged.problem}`);
}
