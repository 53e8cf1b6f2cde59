/** What is wrong with the way to the store, or with the key to it, is told with the setting that mends it and no secret. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, vi } from 'vitest';
import { Secret } from '../../../src/config/secret.ts';
import type { S3Options } from '../../../src/registry/s3/s3-client.ts';
import { failureOf, useRegistry } from './registry-world.ts';

vi.setConfig({ testTimeout: 60_000 });

const { s3, root, relay, storageOf, pullModel } = useRegistry();

describe('what is wrong with the way to the store is told with its remedy', () => {
  const key = (accessKeyId: string, secretAccessKey: string, token?: string) => ({
    accessKeyId: new Secret(accessKeyId),
    secretAccessKey: new Secret(secretAccessKey),
    sessionToken: token === undefined ? undefined : new Secret(token),
  });
  const cases: [name: string, own: () => Partial<S3Options>, code: string, says: RegExp][] = [
    [
      'a wrong secret',
      () => ({ credentials: key(s3().accessKeyId, 'secret-SENTINEL') }),
      'REGISTRY_ACCESS_DENIED',
      /SignatureDoesNotMatch.*AWS_SECRET_ACCESS_KEY/,
    ],
    [
      'an unknown key',
      () => ({ credentials: key('key-SENTINEL', 'secret-SENTINEL') }),
      'REGISTRY_ACCESS_DENIED',
      /InvalidAccessKeyId/,
    ],
    [
      'a wrong session token',
      () => ({ credentials: key(s3().accessKeyId, s3().secretAccessKey, 'token-SENTINEL') }),
      'REGISTRY_ACCESS_DENIED',
      /InvalidToken/,
    ],
    ['no bucket', () => ({ bucket: 'nobodys' }), 'REGISTRY_NOT_FOUND', /no such bucket.*MODEL_REGISTRY_STORAGE_URI/],
    [
      'nobody at the address',
      () => ({ endpoint: 'http://127.0.0.1:9' }),
      'REGISTRY_UNAVAILABLE',
      /ECONNREFUSED.*RAG_SERVING_MODEL_REGISTRY_ENDPOINT/,
    ],
    [
      'TLS to a server without',
      () => ({ endpoint: s3().url.replace('http', 'https') }),
      'REGISTRY_UNAVAILABLE',
      /speaks no TLS.*RAG_SERVING_MODEL_REGISTRY_CA_CERT_PATH/,
    ],
  ];
  for (const [name, own, code, says] of cases) {
    it(name, async () => {
      const error = await failureOf(pullModel('never', storageOf({ endpoint: s3().url, attempts: 1, ...own() })));
      expect(error).toMatchObject({ code });
      expect(error.message).toMatch(says);
      expect(`${error.message} ${error.stack}`).not.toContain('SENTINEL');
      expect(existsSync(join(root, 'never'))).toBe(false);
    });
  }

  const answers: [name: string, status: number, code: string, says: RegExp][] = [
    ['expired credentials', 400, 'ExpiredToken', /have expired.*AWS_SESSION_TOKEN/],
    ['no rights', 403, 'AccessDenied', /may not do this.*s3:GetObject/],
    ['another region', 301, 'PermanentRedirect', /another region than us-east-1.*AWS_DEFAULT_REGION/],
    ['a clock that is wrong', 403, 'RequestTimeTooSkewed', /clock is wrong/],
  ];
  for (const [name, status, code, says] of answers) {
    it(`${name} (answered by the relay)`, async () => {
      relay().spoil = () => ({ kind: 'error', status, code });
      const error = await failureOf(pullModel('never', storageOf({ attempts: 1 })));
      expect(error).toMatchObject({ code: 'REGISTRY_ACCESS_DENIED' });
      expect(error.message).toMatch(says);
      expect(error.message).not.toContain('SENTINEL');
    });
  }

  it('something that is no S3 (answered by the relay)', async () => {
    relay().spoil = () => ({ kind: 'page' });
    const error = await failureOf(pullModel('never', storageOf({ attempts: 1 })));
    expect(error.message).toMatch(/no JSON|no S3/);
  });
});
