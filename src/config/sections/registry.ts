/** The model registry: where it is and how it is reached. Read by `rag-serving models` alone. */
import { url } from '../address-types.ts';
import type { EnvReader } from '../env-reader.ts';
import { path } from '../file-types.ts';
import { choice, integer, secret } from '../leaf-types.ts';
import type { Secret } from '../secret.ts';
import { always, unset } from '../setting.ts';
import { platformSettings } from './platform.ts';

export const registrySettings = {
  endpoint: url('RAG_SERVING_MODEL_REGISTRY_ENDPOINT', unset, ['http', 'https'], {
    doc: 'Address of the S3-compatible store with the models (MinIO, Ceph …), where it is not AWS.',
    defaultNote: 'AWS_ENDPOINT_URL, else AWS',
  }),
  addressing: choice('RAG_SERVING_MODEL_REGISTRY_ADDRESSING', ['auto', 'path', 'virtual-host'], always('auto'), {
    doc: 'Where the bucket stands in a request: in the path or in the host name. auto: in the path where the store is not AWS.',
  }),
  caPath: path('RAG_SERVING_MODEL_REGISTRY_CA_CERT_PATH', unset, {
    doc: 'PEM file of the authorities that signed the certificate of the store.',
    defaultNote: 'the authorities that Node brings',
  }),
  timeoutMs: integer(
    'RAG_SERVING_MODEL_REGISTRY_TIMEOUT_MS',
    always(60_000),
    { min: 100, max: 3_600_000 },
    { doc: 'Longest silence of the store within a request, in milliseconds; then it is tried again.' },
  ),
  attempts: integer(
    'RAG_SERVING_MODEL_REGISTRY_ATTEMPTS',
    always(5),
    { min: 1, max: 100 },
    { doc: 'Tries of a request to the store, the first one included, with growing pauses between them.' },
  ),
  concurrency: integer(
    'RAG_SERVING_MODEL_REGISTRY_CONCURRENCY',
    always(4),
    { min: 1, max: 64 },
    { doc: 'Parts that travel at once, of 16 MiB each; what is sent is held in memory.' },
  ),
  sessionToken: secret('AWS_SESSION_TOKEN', {
    doc: 'Session token, where the key of the model registry is a temporary one.',
  }),
} as const;

export type RegistryPlace =
  | {
      readonly kind: 's3';
      readonly bucket: string;
      /** Ends in `/`, or is empty. */
      readonly prefix: string;
      readonly region: string;
      readonly endpoint: string | undefined;
      readonly addressing: 'path' | 'virtual-host';
      readonly caPath: string | undefined;
      readonly credentials:
        | { readonly accessKeyId: Secret; readonly secretAccessKey: Secret; readonly sessionToken: Secret | undefined }
        | undefined;
    }
  | { readonly kind: 'file'; readonly folder: string };

export type RegistryConfig = {
  readonly place: RegistryPlace;
  readonly timeoutMs: number;
  readonly attempts: number;
  readonly concurrency: number;
};

export function readRegistry(read: EnvReader): RegistryConfig {
  const all = registrySettings;
  const { endpoint, addressing, caPath, sessionToken, ...limits } = read.section(all);
  const uri = new URL(read.read(platformSettings.modelRegistryUri));
  if (caPath !== undefined) {
    read.tlsFiles(
      { caPath, certPath: undefined, keyPath: undefined },
      { caPath: all.caPath, certPath: all.caPath, keyPath: all.caPath },
    );
  }
  read.pair(
    platformSettings.awsAccessKeyId,
    platformSettings.awsSecretAccessKey,
    'a key id works only with its secret',
  );
  read.rule(
    sessionToken === undefined || read.isSet(platformSettings.awsAccessKeyId),
    [all.sessionToken, platformSettings.awsAccessKeyId],
    `is set while ${platformSettings.awsAccessKeyId.name} is not: a session has a key of its own; set all three or none`,
  );
  const path = decoded(uri.pathname);
  read.rule(
    uri.search === '' && uri.hash === '' && uri.username === '' && path !== undefined,
    [platformSettings.modelRegistryUri],
    'has a query, a fragment, credentials or a wrong %; set s3://bucket/prefix/ or file:///folder',
  );
  if (uri.protocol === 'file:') {
    read.rule(
      uri.host === '' && path !== '/' && path !== '',
      [platformSettings.modelRegistryUri],
      'names no folder of this machine; write it with three slashes, file:///srv/models',
    );
    return { place: { kind: 'file', folder: (path ?? '').replace(/\/+$/, '') }, ...limits };
  }
  const server = endpoint ?? read.read(platformSettings.awsEndpointUrl);
  const prefix = (path ?? '').replace(/^\/+|\/+$/g, '');
  const accessKeyId = read.read(platformSettings.awsAccessKeyId);
  const secretAccessKey = read.read(platformSettings.awsSecretAccessKey);
  return {
    place: {
      kind: 's3',
      bucket: uri.host,
      prefix: prefix === '' ? '' : `${prefix}/`,
      region: read.read(platformSettings.awsDefaultRegion),
      endpoint: server,
      addressing: addressing === 'auto' ? (server === undefined ? 'virtual-host' : 'path') : addressing,
      caPath,
      credentials:
        accessKeyId === undefined || secretAccessKey === undefined
          ? undefined
          : { accessKeyId, secretAccessKey, sessionToken },
    },
    ...limits,
  };
}

function decoded(path: string): string | undefined {
  try {
    return decodeURIComponent(path);
  } catch {
    return undefined;
  }
}
