/** The store that the settings name. The S3 client is loaded only for S3. */
import { loadTlsMaterial } from '../config/file-types.ts';
import type { RegistryConfig } from '../config/sections/registry.ts';
import { FileStorage } from './file-storage.ts';
import type { RegistryStorage } from './storage.ts';

export async function openStorage({
  place,
  timeoutMs,
  attempts,
  concurrency,
}: RegistryConfig): Promise<RegistryStorage> {
  if (place.kind === 'file') return new FileStorage(place.folder);
  const { S3Storage } = await import('./s3/s3-storage.ts');
  const { ca } = loadTlsMaterial({ caPath: place.caPath, certPath: undefined, keyPath: undefined });
  return new S3Storage({ ...place, ca, timeoutMs, attempts, concurrency });
}
