/**
 * Asks a Redis for its vector index: finds it, makes it, searches with it.
 *
 * A server without a search engine, another database than 0, and a user without the right are no faults: then a search
 * reads every row, and the reason is told.
 */
import type { VectorDtype } from '../../kserve/contract.ts';
import type { CollectionPlace, RedisCollection } from './collection.ts';
import { errorLabel } from './errors.ts';
import { toBlob } from './rows.ts';
import {
  createArguments,
  foundKeys,
  type IndexWanted,
  indexMismatch,
  indexProblem,
  type RedisIndexKind,
  readIndex,
  searchArguments,
} from './search-index.ts';

export type IndexState =
  | { readonly kind: 'ready' | 'made'; readonly algorithm: string; readonly wanted: IndexWanted }
  /** Why every row is read instead, in words. */
  | { readonly kind: 'none'; readonly reason: string };

const NO_ENGINE =
  'this Redis has no vector search (Redis 8 has it, Redis 7 with the module RediSearch; vectors are stored all the same)';

/** Makes nothing. An index that does not serve the collection counts as none here. */
export async function findIndex(place: CollectionPlace, collection: RedisCollection): Promise<IndexState> {
  return withReason(async () => {
    const wanted = wantedOf(place, collection);
    const found = await lookUp(place, wanted);
    if (found === 'absent') return { kind: 'none', reason: `there is no index "${wanted.name}"` };
    const problem = indexProblem(found, wanted);
    if (problem !== undefined) return { kind: 'none', reason: `the index "${wanted.name}" does not fit: ${problem}` };
    if (found?.isIndexing) return { kind: 'none', reason: `the index "${wanted.name}" is still being built` };
    return { kind: 'ready', algorithm: found?.algorithm ?? '', wanted };
  });
}

/** Makes the index where there is none; rejects with SINK_SCHEMA_MISMATCH for one that does not serve the collection. */
export async function ensureIndex(
  place: CollectionPlace,
  collection: RedisCollection,
  kind: RedisIndexKind,
): Promise<IndexState> {
  if (kind === 'off') return { kind: 'none', reason: 'RAG_SERVING_REDIS_INDEX is off' };
  return withReason(async () => {
    const wanted = wantedOf(place, collection);
    let found = await lookUp(place, wanted);
    const isMissing = found === 'absent';
    if (isMissing) {
      // Another worker may make it in between: what counts is what is there afterwards.
      const failure = await call(place, 'FT.CREATE', createArguments(wanted, kind)).then(
        () => undefined,
        (error: unknown) => error,
      );
      found = await lookUp(place, wanted);
      if (found === 'absent') throw failure;
    }
    if (found === 'absent') throw new Error('no index');
    const problem = indexProblem(found, wanted);
    if (problem !== undefined) throw indexMismatch(problem, wanted, place.connection.server);
    return { kind: isMissing ? 'made' : 'ready', algorithm: found?.algorithm ?? '', wanted };
  });
}

export type IndexQuery = {
  readonly vector: Float32Array;
  readonly limit: number;
  readonly tenantId: string | undefined;
  readonly timeoutMs: number;
};

/** Keys of the nearest rows. */
export async function searchIndex(
  place: CollectionPlace,
  wanted: IndexWanted,
  { vector, limit, tenantId, timeoutMs }: IndexQuery,
): Promise<readonly string[]> {
  const blob = toBlob(new Uint8Array(vector.slice().buffer), 'FP32', wanted.dtype);
  return foundKeys(await call(place, 'FT.SEARCH', searchArguments(wanted, blob, limit, tenantId, timeoutMs)));
}

/** In words, for people. */
export function indexText(state: IndexState): string {
  if (state.kind === 'none') return `exact scan of all rows: ${state.reason}`;
  return `${state.algorithm} index "${state.wanted.name}" (${state.wanted.dtype}, cosine)`;
}

function wantedOf({ keys }: CollectionPlace, { contract, storedDtype }: RedisCollection): IndexWanted {
  const dtype: VectorDtype = storedDtype;
  return { name: `${keys.prefix}index`, keyPrefix: keys.chunk(''), dims: contract.dims, dtype };
}

async function lookUp(place: CollectionPlace, { name }: IndexWanted) {
  const names = (await call(place, 'FT._LIST', [])) as readonly unknown[];
  if (!names.map(String).includes(name)) return 'absent' as const;
  return readIndex(await call(place, 'FT.INFO', [name]));
}

function call({ connection }: CollectionPlace, name: string, args: readonly (string | Buffer)[]): Promise<unknown> {
  return connection.client.call(name, ...args);
}

async function withReason(work: () => Promise<IndexState>): Promise<IndexState> {
  try {
    return await work();
  } catch (error) {
    const reason = reasonOf(error);
    if (reason === undefined) throw error;
    return { kind: 'none', reason };
  }
}

/** By the text where the server gives no code: these sentences say what it cannot do, not what went wrong. */
function reasonOf(error: unknown): string | undefined {
  const label = errorLabel(error);
  if (label === 'NOPERM') return 'the user of RAG_SERVING_REDIS_URL may not use its search commands (FT.*)';
  if (label !== 'ERR' && !(error instanceof Error && error.name === 'ReplyError')) return undefined;
  const text = error instanceof Error ? error.message : '';
  if (/unknown command/i.test(text)) return NO_ENGINE;
  if (/db != 0/i.test(text)) return 'an index can only be on database 0, and RAG_SERVING_REDIS_URL names another';
  return undefined;
}
