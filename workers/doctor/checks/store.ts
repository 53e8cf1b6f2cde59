/** The stores: reachable, and what is in them fits the model. Looked at only: nothing is made. */
import { constants } from 'node:fs';
import { access, statfs } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import { systemClock } from '../../../src/clock.ts';
import type { SingleSinkConfig, SinkConfig } from '../../../src/config/sections/sink.ts';
import { asServingError } from '../../../src/errors.ts';
import type { VectorContract } from '../../../src/kserve/contract.ts';
import { contractMismatch } from '../../../src/sinks/contract-check.ts';
import { createSink } from '../../../src/sinks/registry.ts';
import type { CollectionDescription } from '../../../src/sinks/sink.ts';
import { bytesText } from '../../tool/bytes-text.ts';
import { sinkChoice } from '../../worker/store.ts';
import { fail, type Outcome, ok, skipped, warn } from '../check.ts';
import type { Parts } from '../parts.ts';
import { failureOf, remedyOf } from '../remedies.ts';

const GIB = 2 ** 30;
const MIB = 2 ** 20;
const LITTLE_BYTES = GIB;
const TOO_LITTLE_BYTES = 64 * MIB;

export function membersOf(sink: SinkConfig): readonly SingleSinkConfig[] {
  return sink.kind === 'fan-out' ? sink.members : [sink];
}

export async function lookAtStores({ config, log, found }: Parts, signal: AbortSignal): Promise<Outcome> {
  const ask = async (member: SingleSinkConfig) => {
    const sink = await createSink(sinkChoice(member), log, systemClock);
    try {
      return { kind: member.kind, description: await sink.inspect(signal) };
    } catch (error) {
      return { kind: member.kind, error: asServingError(error) };
    } finally {
      await sink.close();
    }
  };
  const answers = await Promise.all(membersOf(config.sink).map(ask));
  found.collections = answers.flatMap(({ description }) => description ?? []);
  const failed = answers.flatMap(({ kind, error }) => (error === undefined ? [] : [{ kind, error }]));
  const [first] = failed;
  if (first !== undefined) {
    return fail(
      failed.map(({ kind, error }) => `${kind}: ${error.code}: ${error.message}`).join('\n'),
      remedyOf(first.error),
    );
  }
  return ok(answers.map(({ kind, description }) => storeLine(kind, description)).join('\n'));
}

function storeLine(kind: string, description: CollectionDescription | undefined): string {
  if (description === undefined) return `${kind} answers; no collection yet, the first worker makes it`;
  const { collection, rows, dims, dtype, index } = description;
  return `${collection}: ${rows} rows of ${dims} dims, ${dtype}${index === undefined ? '' : `, searched by ${index}`}`;
}

export function collectionVerdict(
  collections: readonly CollectionDescription[],
  contract: VectorContract,
  allowMixed: boolean,
): Outcome {
  if (collections.length === 0) return skipped('there is no collection yet');
  const mismatch = collections
    .map((one) => contractMismatch(one, contract, one, allowMixed))
    .find((error) => error !== undefined);
  if (mismatch !== undefined) return failureOf(mismatch);
  const alike = collections.every(({ fingerprint }) => fingerprint === contract.fingerprint);
  const names = collections.map(({ collection }) => collection).join(', ');
  if (alike) return ok(`${names}: filled by this model`);
  return warn(
    `${names}: filled by another model of the same dims, and RAG_SERVING_SINK_ALLOW_MIXED_FINGERPRINTS is true`,
    'rag-serving reembed fills a new collection: vectors of two models cannot be compared',
  );
}

export async function lookAtCollections({ config, found }: Parts): Promise<Outcome> {
  const allowMixed = membersOf(config.sink).every(
    (member) => 'allowMixedFingerprints' in member && member.allowMixedFingerprints,
  );
  return collectionVerdict(found.collections ?? [], found.contract as VectorContract, allowMixed);
}

export function diskVerdict(folder: string, freeBytes: number): Outcome {
  const found = `${folder} has ${bytesText(freeBytes)} free`;
  const remedy = 'enlarge the volume, or set RAG_SERVING_LANCEDB_PATH to another one';
  if (freeBytes < TOO_LITTLE_BYTES) return fail(found, remedy);
  return freeBytes < LITTLE_BYTES ? warn(found, remedy) : ok(found);
}

export async function lookAtDisk({ config }: Parts): Promise<Outcome> {
  const paths = membersOf(config.sink).flatMap((member) => (member.kind === 'lancedb' ? [member.path] : []));
  const [path] = paths.filter((one) => !/^[a-z0-9]+:\/\//i.test(one));
  if (path === undefined) return skipped('no store is a folder of this machine');
  const folder = await nearestFolder(resolve(path));
  try {
    await access(folder, constants.W_OK | constants.X_OK);
  } catch {
    return fail(`${folder} may not be written by this user`, 'make it writable, or set RAG_SERVING_LANCEDB_PATH');
  }
  const { bavail, bsize } = await statfs(folder);
  return diskVerdict(folder, bavail * bsize);
}

/** The folder itself, or where it will be made. */
async function nearestFolder(path: string): Promise<string> {
  for (let at = path; ; at = dirname(at)) {
    try {
      await access(at, constants.F_OK);
      return at;
    } catch (error) {
      if (at === dirname(at)) throw error;
    }
  }
}
