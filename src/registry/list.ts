/** What there is: every version with its tags, newest last. */
import type { Manifest } from './manifest.ts';
import { checkedName } from './names.ts';
import { inParallel } from './parallel.ts';
import { listRecords, readTag, readVersions } from './records.ts';
import type { RegistryStorage } from './storage.ts';

export type ListedVersion = {
  readonly name: string;
  readonly version: string;
  readonly tags: readonly string[];
  readonly sha256: string;
  readonly createdAt: string;
  readonly sizeBytes: number;
  readonly files: number;
  readonly kind: Manifest['kind'];
  readonly engine: Manifest['engine'];
  readonly fingerprint: Manifest['fingerprint'];
  readonly sourceRevision: string | null;
};

export async function listVersions(
  storage: RegistryStorage,
  name: string | undefined,
  concurrency: number,
  signal: AbortSignal,
): Promise<readonly ListedVersion[]> {
  const records = await listRecords(storage, name === undefined ? undefined : checkedName('name', name), signal);
  const tagged = new Map<string, string[]>();
  const tags = records.filter(({ kind }) => kind === 'tags');
  const readOne = async (record: (typeof tags)[number], readSignal: AbortSignal) => {
    const tag = await readTag(storage, record.name, record.label, readSignal);
    if (tag === undefined) return;
    const version = `${record.name}:${tag.version}`;
    tagged.set(version, [...(tagged.get(version) ?? []), record.label].sort());
  };
  await inParallel(tags, concurrency, readOne, signal);
  const versions = await readVersions(storage, records, signal);
  return versions
    .map(({ manifest, sha256 }) => ({
      name: manifest.name,
      version: manifest.version,
      tags: tagged.get(`${manifest.name}:${manifest.version}`) ?? [],
      sha256,
      createdAt: manifest.createdAt,
      sizeBytes: manifest.files.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0),
      files: manifest.files.length,
      kind: manifest.kind,
      engine: manifest.engine,
      fingerprint: manifest.fingerprint,
      sourceRevision: manifest.sourceRevision,
    }))
    .sort((a, b) => (a.name < b.name ? -1 : a.name > b.name ? 1 : 0));
}
