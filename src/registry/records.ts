/** Versions and tags as they lie in the store: reading, writing, and finding the one that is meant. */
import { ServingError } from '../errors.ts';
import { decodeManifest, decodeTag, encodeTag, type StoredManifest, type Tag } from './manifest.ts';
import {
  LATEST,
  MODELS,
  type PlacedRecord,
  type Reference,
  recordAt,
  tagKey,
  versionKey,
  versionsPrefix,
} from './names.ts';
import { inParallel } from './parallel.ts';
import type { RegistryStorage } from './storage.ts';

const READS_AT_ONCE = 8;

export async function readVersion(
  storage: RegistryStorage,
  name: string,
  version: string,
  signal: AbortSignal,
): Promise<StoredManifest | undefined> {
  const key = versionKey(name, version);
  const bytes = await storage.readSmall(key, signal);
  if (bytes === undefined) return undefined;
  const stored = decodeManifest(bytes, `${storage.address}: ${key}`);
  if (stored.manifest.name === name && stored.manifest.version === version) return stored;
  throw new ServingError('REGISTRY_CORRUPT', `${storage.address}: ${key} is the manifest of another model; refused`);
}

export async function readTag(
  storage: RegistryStorage,
  name: string,
  tag: string,
  signal: AbortSignal,
): Promise<Tag | undefined> {
  const key = tagKey(name, tag);
  const bytes = await storage.readSmall(key, signal);
  return bytes === undefined ? undefined : decodeTag(bytes, `${storage.address}: ${key}`);
}

export async function writeTag(
  storage: RegistryStorage,
  name: string,
  tag: string,
  to: Tag,
  signal: AbortSignal,
): Promise<void> {
  await storage.writeSmall(tagKey(name, tag), encodeTag(to), 'always', signal);
}

/** A tag goes before a version of the same name. Throws REGISTRY_NOT_FOUND saying what there is. */
export async function resolve(
  storage: RegistryStorage,
  { name, wanted }: Reference,
  signal: AbortSignal,
): Promise<StoredManifest> {
  if (wanted.kind === 'digest') return await byDigest(storage, name, wanted.sha256, signal);
  const tag = await readTag(storage, name, wanted.label, signal);
  const stored = await readVersion(storage, name, tag?.version ?? wanted.label, signal);
  if (stored === undefined) throw await notFound(storage, name, wanted.label, signal);
  if (tag !== undefined && tag.sha256 !== stored.sha256) {
    throw new ServingError(
      'REGISTRY_CORRUPT',
      `${storage.address}: the manifest of ${name}:${stored.manifest.version} is not the one that was tagged ${wanted.label}; push it again as another version`,
    );
  }
  return stored;
}

/** Versions and tags of one model, or of all; foreign files are passed over. */
export async function listRecords(
  storage: RegistryStorage,
  name: string | undefined,
  signal: AbortSignal,
): Promise<readonly PlacedRecord[]> {
  const records: PlacedRecord[] = [];
  const prefix = name === undefined ? MODELS : `${MODELS}${name}/`;
  for await (const { key } of storage.list(prefix, signal)) {
    const record = recordAt(key);
    if (record !== undefined) records.push(record);
  }
  return records;
}

export async function readVersions(
  storage: RegistryStorage,
  records: readonly PlacedRecord[],
  signal: AbortSignal,
): Promise<readonly StoredManifest[]> {
  const found: StoredManifest[] = [];
  const read = async ({ name, label }: PlacedRecord, readSignal: AbortSignal) => {
    const stored = await readVersion(storage, name, label, readSignal);
    if (stored !== undefined) found.push(stored);
  };
  const versions = records.filter(({ kind }) => kind === 'versions');
  await inParallel(versions, READS_AT_ONCE, read, signal);
  return found.sort((a, b) => order(a) - order(b));
}

function order({ manifest }: StoredManifest): number {
  return Date.parse(manifest.createdAt);
}

async function byDigest(
  storage: RegistryStorage,
  name: string,
  sha256: string,
  signal: AbortSignal,
): Promise<StoredManifest> {
  const all = await readVersions(storage, await listRecords(storage, name, signal), signal);
  const matching = all.filter((stored) => stored.sha256.startsWith(sha256));
  if (matching.length === 1) return matching[0]!;
  throw new ServingError(
    'REGISTRY_NOT_FOUND',
    `${storage.address}: ${matching.length === 0 ? 'no version' : 'more than one version'} of ${name} has the digest sha256:${sha256}; see "models list"`,
  );
}

async function notFound(
  storage: RegistryStorage,
  name: string,
  label: string,
  signal: AbortSignal,
): Promise<ServingError> {
  const known: string[] = [];
  for await (const { key } of storage.list(versionsPrefix(name), signal)) {
    if (known.length < 5) known.push(recordAt(key)?.label ?? '');
  }
  const there = known.filter((version) => version !== '');
  const asked = label === LATEST ? name : `${name}:${label}`;
  const says = there.length === 0 ? 'no model of that name' : `it has versions such as ${there.join(', ')}`;
  return new ServingError(
    'REGISTRY_NOT_FOUND',
    `${storage.address}: ${asked} is not there (${says}); see "models list"`,
  );
}
