import { describe, expect, it } from 'vitest';
import { readModelsConfig } from '../../../src/config/tool-programs.ts';

const read = (env: Record<string, string>) => readModelsConfig(env).registry;

describe('where the model registry is', () => {
  it('is a bucket of AWS by default', () => {
    expect(read({})).toMatchObject({
      place: {
        kind: 's3',
        bucket: 'rag-model-cache',
        prefix: 'tensorrt-engines/',
        addressing: 'virtual-host',
        region: 'us-east-1',
      },
      concurrency: 4,
    });
  });
  it('is another store where an address is set, with the bucket in the path', () => {
    const env = { MODEL_REGISTRY_STORAGE_URI: 's3://b', AWS_ENDPOINT_URL: 'http://aws:1' };
    expect(read(env).place).toMatchObject({ bucket: 'b', prefix: '', endpoint: 'http://aws:1', addressing: 'path' });
    expect(read({ ...env, RAG_SERVING_MODEL_REGISTRY_ENDPOINT: 'http://own:2' }).place).toMatchObject({
      endpoint: 'http://own:2',
    });
  });
  it('is a folder', () => {
    expect(read({ MODEL_REGISTRY_STORAGE_URI: 'file:///srv/my%20models/' }).place).toEqual({
      kind: 'file',
      folder: '/srv/my models',
    });
  });
  const wrong: [env: Record<string, string>, says: RegExp][] = [
    [{ MODEL_REGISTRY_STORAGE_URI: 'gs://b/x' }, /MODEL_REGISTRY_STORAGE_URI got .* s3:\/\/ or file:\/\//],
    [{ MODEL_REGISTRY_STORAGE_URI: 'file://srv/models' }, /three slashes/],
    [{ MODEL_REGISTRY_STORAGE_URI: 'file:///' }, /names no folder/],
    [{ MODEL_REGISTRY_STORAGE_URI: 's3://b/x?y=1' }, /has a query/],
    [{ MODEL_REGISTRY_STORAGE_URI: 's3://u:SENTINEL@b/x' }, /credentials/],
    [{ AWS_ACCESS_KEY_ID: 'SENTINEL' }, /AWS_SECRET_ACCESS_KEY is unset/],
    [{ AWS_SESSION_TOKEN: 'SENTINEL' }, /AWS_SESSION_TOKEN is set while AWS_ACCESS_KEY_ID is not/],
    [
      { RAG_SERVING_MODEL_REGISTRY_CA_CERT_PATH: '/nowhere.pem' },
      /RAG_SERVING_MODEL_REGISTRY_CA_CERT_PATH names a file that does not exist/,
    ],
    [{ RAG_SERVING_MODEL_REGISTRY_CONCURRENCY: '0' }, /1 to 64/],
  ];
  for (const [env, says] of wrong) {
    it(`refuses ${Object.keys(env).join()}: ${says.source}`, () => {
      expect(() => read(env)).toThrow(says);
      expect(() => read(env)).not.toThrow(/SENTINEL/);
    });
  }
});
