/**
 * What a collection says of itself in its `meta` hash: written by the first worker, compared by each later one, read by
 * whoever only looks.
 */
import { ServingError } from '../../errors.ts';
import type { VectorContract, VectorDtype } from '../../kserve/contract.ts';
import { type CollectionName, contractMismatch, type ReadContract, readContract } from '../contract-check.ts';
import type { RedisConnection } from './connection.ts';
import { errorLabel } from './errors.ts';
import type { RedisKeys } from './keys.ts';
import { claimScript } from './script.ts';

export type RedisCollection = { readonly contract: ReadContract; readonly storedDtype: VectorDtype };

export type CollectionPlace = { readonly connection: RedisConnection; readonly keys: RedisKeys };

export function nameOf({ connection, keys }: CollectionPlace): CollectionName {
  return {
    collection: `Redis collection "${keys.prefix}" at ${connection.server}`,
    setting: 'RAG_SERVING_REDIS_KEY_PREFIX',
  };
}

/** Makes the collection, or checks that the one there takes this model's vectors; true when it was made. */
export async function claimCollection(
  place: CollectionPlace,
  contract: VectorContract,
  storedDtype: VectorDtype,
  allowMixedFingerprints: boolean,
): Promise<boolean> {
  const claim = [contract.fingerprint, String(contract.dims), contract.dtype, storedDtype] as const;
  const reply = await place.connection.client
    .evalsha(claimScript.sha, 1, place.keys.meta, ...claim)
    .catch((error: unknown) => refuseOtherType(error, place));
  const [fingerprint, dims, dtype, stored, isNew] = reply as [string, string, string, string, number];
  const found = { fingerprint, dims: Number(dims), dtype };
  const mismatch = contractMismatch(found, contract, nameOf(place), allowMixedFingerprints);
  if (mismatch !== undefined) throw mismatch;
  if (stored !== storedDtype) {
    const { collection, setting } = nameOf(place);
    throw new ServingError(
      'SINK_SCHEMA_MISMATCH',
      `${collection} keeps vectors as ${stored}, this worker would write ${storedDtype}: use one setting or a new ${setting}`,
    );
  }
  return isNew === 1;
}

/** Changes nothing; undefined when nobody has made the collection. */
export async function findCollection(place: CollectionPlace): Promise<RedisCollection | undefined> {
  const { client } = place.connection;
  const [fingerprint, dims, dtype, stored] = await client
    .hmget(place.keys.meta, 'fingerprint', 'dims', 'dtype', 'stored_dtype')
    .catch((error: unknown) => refuseOtherType(error, place));
  if (fingerprint === null && (await client.exists(place.keys.meta)) === 0) return undefined;
  const contract = readContract({ fingerprint: fingerprint ?? '', dims: Number(dims), dtype: dtype ?? '' });
  if (!fingerprint || contract === undefined || (stored !== 'FP16' && stored !== 'FP32')) throw notOurs(place);
  return { contract, storedDtype: stored };
}

function refuseOtherType(error: unknown, place: CollectionPlace): never {
  throw errorLabel(error) === 'WRONGTYPE' ? notOurs(place) : error;
}

function notOurs(place: CollectionPlace): ServingError {
  const { collection, setting } = nameOf(place);
  return new ServingError(
    'SINK_SCHEMA_MISMATCH',
    `${collection} was not made by this version of rag-serving: its key "${place.keys.meta}" holds something else. Name another prefix in ${setting}`,
  );
}
