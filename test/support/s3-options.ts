/** How our S3 storage, and our programs, reach a started S3 server. */
import type { RunningS3 } from '../../scripts/stack/s3.ts';
import { Secret } from '../../src/config/secret.ts';
import type { S3Options } from '../../src/registry/s3/s3-client.ts';

export function s3OptionsOf(s3: RunningS3, own: Partial<S3Options> = {}): S3Options {
  return {
    bucket: s3.bucket,
    prefix: '',
    region: 'us-east-1',
    endpoint: s3.url,
    addressing: 'path',
    ca: undefined,
    credentials: {
      accessKeyId: new Secret(s3.accessKeyId),
      secretAccessKey: new Secret(s3.secretAccessKey),
      sessionToken: undefined,
    },
    timeoutMs: 10_000,
    attempts: 3,
    concurrency: 3,
    ...own,
  };
}

export function s3Environment(s3: RunningS3, prefix = 'registry/'): Record<string, string> {
  return {
    MODEL_REGISTRY_STORAGE_URI: `s3://${s3.bucket}/${prefix}`,
    RAG_SERVING_MODEL_REGISTRY_ENDPOINT: s3.url,
    AWS_ACCESS_KEY_ID: s3.accessKeyId,
    AWS_SECRET_ACCESS_KEY: s3.secretAccessKey,
    // Nothing of this machine's own is looked at.
    AWS_EC2_METADATA_DISABLED: 'true',
  };
}
