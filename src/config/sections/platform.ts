/** GPU budget, model registry, cloud and monitoring: read by the operator tools, checked by every program. */
import { url } from '../address-types.ts';
import type { EnvReader } from '../env-reader.ts';
import { path } from '../file-types.ts';
import { headerSafe, integer, ratio, secret, text } from '../leaf-types.ts';
import { always, unset, type ValuesOf } from '../setting.ts';

const tebibyte = 1_099_511_627_776;

export const platformSettings = {
  vramCapacityBytes: integer(
    'RAG_SERVING_VRAM_CAPACITY_BYTES',
    always(25_769_803_776),
    { min: 1, max: tebibyte },
    {
      doc: 'Memory of the GPU in bytes.',
    },
  ),
  maxStaticVramBytes: integer(
    'RAG_SERVING_MAX_STATIC_VRAM_BYTES',
    always(21_474_836_480),
    { min: 1, max: tebibyte },
    {
      doc: 'Bytes that models and their workspaces may take for good; at most RAG_SERVING_VRAM_CAPACITY_BYTES.',
    },
  ),
  vramMaxUtilizationRatio: ratio('RAG_SERVING_VRAM_MAX_UTILIZATION_RATIO', 0.85, {
    doc: 'Share of the GPU memory above which the pool counts as full.',
  }),
  prometheusAddress: url(
    'PROMETHEUS_SERVER_ADDRESS',
    always('http://prometheus-k8s.monitoring.svc:9090'),
    ['http', 'https'],
    { doc: 'Prometheus that the autoscaler asks. Autoscaler only.' },
  ),
  prometheusBearerToken: secret(
    'PROMETHEUS_BEARER_TOKEN',
    { doc: 'Token for that Prometheus. Autoscaler only.' },
    headerSafe,
  ),
  modelRegistryUri: url(
    'MODEL_REGISTRY_STORAGE_URI',
    always('s3://rag-model-cache/tensorrt-engines/'),
    ['s3', 'file'],
    { doc: 'Model registry, where built engines are kept: s3://bucket/prefix/, or file:///folder.' },
  ),
  hfToken: secret('HF_TOKEN', { doc: 'Hugging Face token, to fetch gated models.' }, headerSafe),
  awsAccessKeyId: secret('AWS_ACCESS_KEY_ID', {
    doc: 'Key id for the model registry, and for LanceDB on S3.',
    defaultNote: 'where the AWS SDK looks: profile, role of the pod or machine',
  }),
  awsSecretAccessKey: secret('AWS_SECRET_ACCESS_KEY', {
    doc: 'Secret key for the model registry, and for LanceDB on S3.',
  }),
  awsDefaultRegion: text(
    'AWS_DEFAULT_REGION',
    always('us-east-1'),
    { doc: 'Region of the model registry, and of LanceDB on S3.' },
    { test: /^[a-z0-9-]{1,64}$/, says: 'lower-case letters, digits and hyphens' },
  ),
  awsEndpointUrl: url('AWS_ENDPOINT_URL', unset, ['http', 'https'], {
    doc: 'Address of an S3-compatible store that is not AWS; RAG_SERVING_MODEL_REGISTRY_ENDPOINT goes before.',
  }),
} as const;

export type PlatformConfig = ValuesOf<typeof platformSettings>;

export function readPlatform(read: EnvReader): PlatformConfig {
  const all = platformSettings;
  const value = read.section(all);
  read.rule(
    value.maxStaticVramBytes <= value.vramCapacityBytes,
    [all.maxStaticVramBytes, all.vramCapacityBytes],
    `(${value.maxStaticVramBytes}) is more than ${all.vramCapacityBytes.name} (${value.vramCapacityBytes}); set at most as much`,
  );
  read.pair(all.awsAccessKeyId, all.awsSecretAccessKey, 'a key id works only with its secret');
  return value;
}

export const storageSettings = {
  cacheDir: path('RAG_SERVING_CACHE_DIR', unset, {
    doc: 'Folder where fetched models are kept.',
    defaultNote: '$XDG_CACHE_HOME/rag-inference-serving, else ~/.cache/rag-inference-serving',
  }),
  xdgCacheHome: path('XDG_CACHE_HOME', unset, {
    doc: 'Base folder of caches, as on any desktop.',
    defaultNote: '~/.cache',
  }),
} as const;

export function readCacheDir(read: EnvReader, homeDir: string): string {
  const { cacheDir, xdgCacheHome } = read.section(storageSettings);
  return cacheDir ?? `${xdgCacheHome ?? `${homeDir}/.cache`}/rag-inference-serving`;
}
