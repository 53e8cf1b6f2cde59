/** How values are written, and the schema registry that says what their schema ids mean. */
import type { EnvReader } from '../env-reader.ts';
import { path, type TlsPaths } from '../file-types.ts';
import { choice, headerSafe, integer, secret, text } from '../leaf-types.ts';
import type { Secret } from '../secret.ts';
import { always, defineSetting, ok, refuse, unset } from '../setting.ts';

const valueFormats = ['json', 'avro', 'json-schema', 'protobuf', 'auto'] as const;

export const schemaSettings = {
  valueFormat: choice('KAFKA_VALUE_FORMAT', valueFormats, always('json'), {
    doc: 'How values are written: plain JSON, or with the id of a registered schema before them; auto: any of these, mixed.',
  }),
  registryUrls: defineSetting<readonly string[] | undefined>(
    'KAFKA_SCHEMA_REGISTRY_URL',
    'comma list of URLs (http://, https://)',
    unset,
    { doc: 'Addresses of one Confluent-compatible schema registry; the next one is asked when one is away.' },
    parseUrls,
  ),
  subject: text(
    'KAFKA_SCHEMA_SUBJECT',
    unset,
    {
      doc: 'Subject whose newest schema is checked at start; none for no check, where a topic has values of several subjects.',
      defaultNote: '<KAFKA_TOPIC>-value',
    },
    { test: /^[^\0\s]{1,512}$/, says: 'a subject name of 1–512 characters without spaces' },
  ),
  username: text('KAFKA_SCHEMA_REGISTRY_USERNAME', unset, { doc: 'User name (API key) for the schema registry.' }),
  password: secret('KAFKA_SCHEMA_REGISTRY_PASSWORD', { doc: 'Password (API secret) for the schema registry.' }),
  bearerToken: secret(
    'KAFKA_SCHEMA_REGISTRY_BEARER_TOKEN',
    { doc: 'Token for the schema registry, in place of user name and password.' },
    headerSafe,
  ),
  caPath: path('KAFKA_SCHEMA_REGISTRY_CA_CERT_PATH', unset, {
    doc: 'PEM file of the authorities that signed the certificate of the schema registry.',
    defaultNote: 'the authorities that Node brings',
  }),
  certPath: path('KAFKA_SCHEMA_REGISTRY_CLIENT_CERT_PATH', unset, {
    doc: 'PEM client certificate for the schema registry, for mutual TLS.',
  }),
  keyPath: path('KAFKA_SCHEMA_REGISTRY_CLIENT_KEY_PATH', unset, { doc: 'PEM private key of that certificate.' }),
  timeoutMs: integer(
    'KAFKA_SCHEMA_REGISTRY_TIMEOUT_MS',
    always(5_000),
    { min: 100, max: 300_000 },
    { doc: 'Longest time of one request to the schema registry, in milliseconds.' },
  ),
  cacheSize: integer(
    'KAFKA_SCHEMA_CACHE_SIZE',
    always(1_000),
    { min: 1, max: 1_000_000 },
    { doc: 'Schemas that are kept in memory.' },
  ),
} as const;

/** Undefined: values are plain JSON. */
export type SchemasConfig =
  | {
      readonly format: Exclude<(typeof valueFormats)[number], 'json'>;
      readonly urls: readonly string[];
      /** Undefined: no check at start. */
      readonly subject: string | undefined;
      readonly basic: { readonly username: string; readonly password: Secret } | undefined;
      readonly bearerToken: Secret | undefined;
      readonly tls: TlsPaths;
      readonly timeoutMs: number;
      readonly cacheSize: number;
    }
  | undefined;

export function readSchemas(read: EnvReader, topic: string): SchemasConfig {
  const all = schemaSettings;
  const { valueFormat, registryUrls, subject, username, password, bearerToken, ...rest } = read.section(all);
  const { caPath, certPath, keyPath, timeoutMs, cacheSize } = rest;
  read.pair(all.username, all.password, 'a user name works only with its password');
  read.pair(all.certPath, all.keyPath, 'a client certificate works only with its key');
  read.rule(
    bearerToken === undefined || username === undefined,
    [all.bearerToken, all.username],
    `is set beside ${all.username.name}; the registry can be shown only one of them`,
  );
  if (valueFormat === 'json') {
    read.rule(
      registryUrls === undefined,
      [all.registryUrls, all.valueFormat],
      `is set while ${all.valueFormat.name} is json, which has no schemas; set ${all.valueFormat.name} or unset it`,
    );
    return undefined;
  }
  read.rule(
    registryUrls !== undefined,
    [all.registryUrls, all.valueFormat],
    `is unset while ${all.valueFormat.name} is ${valueFormat}; set the address of the schema registry`,
  );
  read.tlsFiles({ caPath, certPath, keyPath }, all);
  const basic = username === undefined || password === undefined ? undefined : { username, password };
  if ((basic ?? bearerToken) !== undefined && registryUrls?.some((url) => url.toLowerCase().startsWith('http://'))) {
    read.warn(
      `${all.registryUrls.name}: the password or token of the schema registry travels unencrypted over http://`,
    );
  }
  return {
    format: valueFormat,
    urls: registryUrls ?? [],
    subject: subject?.toLowerCase() === 'none' ? undefined : (subject ?? `${topic}-value`),
    basic,
    bearerToken,
    tls: { caPath, certPath, keyPath },
    timeoutMs,
    cacheSize,
  };
}

function parseUrls(value: string) {
  const urls = value.split(',').map((entry) => entry.trim());
  for (const [index, entry] of urls.entries()) {
    const remedy = 'set a URL that begins with http:// or https://, more of them after commas';
    if (!/^https?:\/\//i.test(entry) || !URL.canParse(entry))
      return refuse(`has an entry ${index + 1} that is no such URL; ${remedy}`);
    const { username, password, search, hash } = new URL(entry);
    if (username !== '' || password !== '') {
      return refuse(`has credentials in entry ${index + 1}; set KAFKA_SCHEMA_REGISTRY_USERNAME and _PASSWORD`);
    }
    if (search !== '' || hash !== '') return refuse(`has a query or fragment in entry ${index + 1}; ${remedy}`);
  }
  return ok<readonly string[] | undefined>(Object.freeze(urls));
}
