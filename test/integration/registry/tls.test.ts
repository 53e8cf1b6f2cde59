/** A store behind TLS with an authority of its own: reached with its certificate, refused without. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { type RunningS3, startS3 } from '../../../scripts/stack/s3.ts';
import { readModelsConfig } from '../../../src/config/tool-programs.ts';
import { openStorage } from '../../../src/registry/open-storage.ts';
import { Authority } from '../../support/certificates.ts';
import { s3Environment } from '../../support/s3-options.ts';

const root = mkdtempSync(join(tmpdir(), 'rag-registry-tls-'));
const authority = new Authority();
const signal = AbortSignal.timeout(60_000);
let server: RunningS3 | undefined;

beforeAll(async () => {
  const { cert, key } = authority.issue('store.test', 'IP:127.0.0.1');
  const [certPath, keyPath] = [join(root, 'cert.pem'), join(root, 'key.pem')];
  writeFileSync(certPath, cert);
  writeFileSync(keyPath, key);
  writeFileSync(join(root, 'ca.pem'), authority.cert);
  server = await startS3({ tls: { certPath, keyPath } });
});
afterAll(async () => {
  await server?.stop();
  authority.remove();
  rmSync(root, { recursive: true, force: true });
});

it('with RAG_SERVING_MODEL_REGISTRY_CA_CERT_PATH, and not without', async () => {
  const env = { ...s3Environment(server!), RAG_SERVING_MODEL_REGISTRY_ATTEMPTS: '1' };
  const stranger = await openStorage(readModelsConfig(env).registry);
  await expect(stranger.stat('x', signal)).rejects.toThrow(/is not trusted.*RAG_SERVING_MODEL_REGISTRY_CA_CERT_PATH/);
  stranger.close();
  const ca = { RAG_SERVING_MODEL_REGISTRY_CA_CERT_PATH: join(root, 'ca.pem') };
  const friend = await openStorage(readModelsConfig({ ...env, ...ca }).registry);
  expect(await friend.writeSmall('x', Buffer.from('y'), 'absent', signal)).toBe('written');
  expect((await friend.readSmall('x', signal))?.toString()).toBe('y');
  friend.close();
});
