/**
 * One step of a walk over the keys of a collection, by Redis' own SCAN.
 *
 * Surprising: a cursor means nothing to a server that has been started again, which may then leave keys out. So a place
 * also names the run of the server, and in another run the walk begins anew.
 */
import type { Redis } from 'ioredis';
import type { CollectionPlace } from './collection.ts';

export type Place = { readonly run: string; readonly cursor: string };

export async function scanIds(
  { connection: { client }, keys }: CollectionPlace,
  token: string | undefined,
  count: number,
): Promise<{ readonly ids: readonly string[]; readonly place: Place }> {
  const run = await runOf(client);
  const [before, at = '0'] = token?.split(':') ?? [];
  const [cursor, found] = await client.scan(before === run ? at : '0', 'MATCH', keys.chunkPattern, 'COUNT', count);
  const start = keys.chunk('').length;
  return { ids: [...new Set(found)].map((key) => key.slice(start)), place: { run, cursor } };
}

export function nextToken({ run, cursor }: Place): string | undefined {
  return cursor === '0' ? undefined : `${run}:${cursor}`;
}

/** Empty where this user may not ask: the walk then trusts that the server stays up. */
async function runOf(client: Redis): Promise<string> {
  const info = await client.info('server').catch(() => '');
  return /^run_id:(\w+)/m.exec(info)?.[1] ?? '';
}
