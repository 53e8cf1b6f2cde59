/** Reading rows back, and the exact search: every chunk key is scanned, so its price grows with the collection. */
import type { VectorDtype } from '../../kserve/contract.ts';
import { cosine, decodeVector, Nearest } from '../similarity.ts';
import type { SearchHit, SearchScope, StoredRow } from '../sink.ts';
import type { CollectionPlace, RedisCollection } from './collection.ts';
import { repliesOf } from './commands.ts';
import { fieldsToHit, HIT_FIELDS, hashToRow } from './rows.ts';

const SCAN_PAGE = 1_000;

export async function fetchRows(
  { connection, keys }: CollectionPlace,
  { contract, storedDtype }: RedisCollection,
  chunkIds: readonly string[],
): Promise<readonly StoredRow[]> {
  const pipeline = connection.client.pipeline();
  for (const id of chunkIds) pipeline.hgetallBuffer(keys.chunk(id));
  const hashes = (await repliesOf(pipeline, connection, 'fetch')) as Record<string, Buffer>[];
  return hashes.filter((hash) => hash.chunk_id !== undefined).map((hash) => hashToRow(hash, contract, storedDtype));
}

/** Scores are exact, whether an index found the keys or every one is looked at. */
export class Scoring {
  readonly #place: CollectionPlace;
  readonly #vector: Float32Array;
  readonly #storedDtype: VectorDtype;
  readonly #tenantId: string | undefined;
  readonly #nearest: Nearest<string>;
  // SCAN may give a key more than once.
  readonly #seen = new Set<string>();

  constructor(
    place: CollectionPlace,
    vector: Float32Array,
    { limit, tenantId }: SearchScope,
    storedDtype: VectorDtype,
  ) {
    this.#place = place;
    this.#vector = vector;
    this.#storedDtype = storedDtype;
    this.#tenantId = tenantId;
    this.#nearest = new Nearest(limit);
  }

  /** Looks at one page of keys; the cursor of the next, '0' after the last. */
  async page(cursor: string): Promise<string> {
    const { connection, keys } = this.#place;
    const [next, found] = await connection.client.scan(cursor, 'MATCH', keys.chunkPattern, 'COUNT', SCAN_PAGE);
    await this.offer(found);
    return next;
  }

  async offer(found: readonly string[]): Promise<void> {
    const { connection } = this.#place;
    const fresh = found.filter((key) => !this.#seen.has(key) && this.#seen.add(key));
    const pipeline = connection.client.pipeline();
    for (const key of fresh) pipeline.hmgetBuffer(key, 'vector', 'tenant_id');
    const rows = (await repliesOf(pipeline, connection, 'search')) as (Buffer | null)[][];
    for (const [index, [blob, tenant]] of rows.entries()) {
      // Gone since it was found, or of another tenant.
      if (!blob || (this.#tenantId !== undefined && tenant?.toString('utf8') !== this.#tenantId)) continue;
      this.#nearest.offer(cosine(this.#vector, decodeVector(blob, this.#storedDtype)), fresh[index]!);
    }
  }

  async hits(): Promise<readonly SearchHit[]> {
    const best = this.#nearest.best();
    const { connection } = this.#place;
    const pipeline = connection.client.pipeline();
    for (const { item } of best) pipeline.hmget(item, ...HIT_FIELDS);
    const hits = (await repliesOf(pipeline, connection, 'search')) as (string | null)[][];
    return hits.map((values, index) => fieldsToHit(values, best[index]!.score));
  }
}
