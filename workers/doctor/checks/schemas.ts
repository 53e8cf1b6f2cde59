/** The schema registry, where values are framed: it answers, and its subject makes chunks. */
import { checkSubject } from '../../../src/schemas/subject-check.ts';
import { registryClient } from '../../schema-values.ts';
import { type Outcome, ok, skipped } from '../check.ts';
import type { Parts } from '../parts.ts';

export async function lookAtSchemas({ config: { schemas } }: Parts, signal: AbortSignal): Promise<Outcome> {
  if (schemas === undefined) return skipped('values are plain JSON by these settings');
  const { subject, format } = schemas;
  if (subject === undefined) return skipped('no subject is expected (KAFKA_SCHEMA_SUBJECT is none)');
  const client = registryClient(schemas);
  try {
    const latest = await client.latest(subject, signal);
    checkSubject(subject, latest, format);
    return ok(`subject ${subject} makes chunks: ${latest?.schema.format}, version ${latest?.version}`);
  } finally {
    client.close();
  }
}
