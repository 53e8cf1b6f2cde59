/** Whether a collection that exists may take the vectors of this model: same dims and dtype always, same fingerprint unless told otherwise. Pure. */
import { ServingError } from '../errors.ts';
import type { VectorContract, VectorDtype } from '../kserve/contract.ts';

export type CollectionContract = Pick<VectorContract, 'fingerprint' | 'dims'> & { readonly dtype: string };

/** A collection's contract as it is needed to read it. */
export type ReadContract = Pick<VectorContract, 'fingerprint' | 'dims' | 'dtype'>;

/** What is known of a collection without a model beside it; undefined for what this version does not write. */
export function readContract({ fingerprint, dims, dtype }: CollectionContract): ReadContract | undefined {
  if (dtype !== 'FP16' && dtype !== 'FP32') return undefined;
  return Number.isSafeInteger(dims) && dims > 0 ? { fingerprint, dims, dtype: dtype satisfies VectorDtype } : undefined;
}

/** Why a sink that was opened to be looked at takes no rows. */
export function openForReading(sink: string): ServingError {
  return new ServingError(
    'ARGUMENT_INVALID',
    `the ${sink} sink was opened for reading: it takes no rows and no deletions`,
  );
}

export type CollectionName = {
  /** As it reads in a message: `LanceDB table "chunks" in ./data`. */
  readonly collection: string;
  /** The setting that names another collection. */
  readonly setting: string;
};

export function contractMismatch(
  stored: CollectionContract,
  model: VectorContract,
  { collection, setting }: CollectionName,
  allowMixedFingerprints: boolean,
): ServingError | undefined {
  const remedy = `embed into a new collection (${setting}) or use the model that filled this one`;
  for (const field of ['dims', 'dtype'] as const) {
    if (stored[field] !== model[field]) {
      return mismatch(
        `${collection} holds vectors with ${field} ${stored[field]}, model ${model.modelName} gives ${field} ${model[field]}: ${remedy}`,
        { field, stored: stored[field], model: model[field] },
      );
    }
  }
  if (stored.fingerprint !== model.fingerprint && !allowMixedFingerprints) {
    return mismatch(
      `${collection} was filled by a model with fingerprint ${stored.fingerprint}, model ${model.modelName} has ${model.fingerprint}; ` +
        `their vectors cannot be compared: ${remedy}, or set RAG_SERVING_SINK_ALLOW_MIXED_FINGERPRINTS=true`,
      { field: 'fingerprint', stored: stored.fingerprint, model: model.fingerprint },
    );
  }
  return undefined;
}

function mismatch(message: string, details: Readonly<Record<string, unknown>>): ServingError {
  return new ServingError('SINK_SCHEMA_MISMATCH', message, { details });
}
