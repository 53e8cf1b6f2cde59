/**
 * How LanceDB reaches an object store, as the options that it knows; pure.
 *
 * Surprising: without limits of its own LanceDB repeats a request for minutes while a store is away, and its caller has
 * long given up. Here a request ends within `timeoutMs` times its few tries, and the worker's own repeats take over.
 */
import { ServingError } from '../../errors.ts';

export type ObjectStoreAccess = {
  /** Unset: where the AWS SDK looks (role of the pod or machine, profile). */
  readonly accessKeyId?: string;
  readonly secretAccessKey?: string;
  readonly sessionToken?: string;
  readonly region?: string;
  /** Address of a store that speaks S3 and is not AWS. */
  readonly endpoint?: string;
};

export const OBJECT_STORE_SCHEMES = ['s3', 's3+ddb', 'gs', 'az'] as const;

const RETRIES = 2;
const RETRY_WINDOW_S = 15;
const REQUEST_S = 20;
const CONNECT_S = 5;

/** Scheme of an address in lower case; undefined for a folder of this machine. */
export function schemeOf(uri: string): string | undefined {
  return /^([a-z][a-z0-9+.-]*):\/\//i.exec(uri)?.[1]?.toLowerCase();
}

/** Options for an address; undefined for a folder. Credentials for gs and az come from their own variables. */
export function storageOptions(uri: string, access: ObjectStoreAccess): Record<string, string> | undefined {
  const scheme = schemeOf(uri);
  if (scheme === undefined) return undefined;
  const limits = {
    client_max_retries: String(RETRIES),
    client_retry_timeout: String(RETRY_WINDOW_S),
    timeout: `${REQUEST_S}s`,
    connect_timeout: `${CONNECT_S}s`,
  };
  if (!scheme.startsWith('s3')) return limits;
  const { accessKeyId, secretAccessKey, sessionToken, region, endpoint } = access;
  return {
    ...limits,
    ...(region === undefined ? {} : { aws_region: region }),
    ...(accessKeyId === undefined ? {} : { aws_access_key_id: accessKeyId }),
    ...(secretAccessKey === undefined ? {} : { aws_secret_access_key: secretAccessKey }),
    ...(sessionToken === undefined ? {} : { aws_session_token: sessionToken }),
    ...(endpoint === undefined ? {} : { aws_endpoint: endpoint, allow_http: String(/^http:/i.test(endpoint)) }),
  };
}

/** Throws CONFIG_INVALID for an address that no store is behind; a folder is none. */
export function checkAddress(uri: string): void {
  const scheme = schemeOf(uri);
  if (scheme === undefined) return;
  const [bucket, ...path] = uri.slice(scheme.length + 3).split('/');
  const known = (OBJECT_STORE_SCHEMES as readonly string[]).includes(scheme);
  const hasPlace = bucket !== undefined && bucket !== '' && path.some((part) => part !== '');
  if (known && hasPlace && !bucket.includes('@')) return;
  throw new ServingError(
    'CONFIG_INVALID',
    `RAG_SERVING_LANCEDB_PATH is ${known ? `a ${scheme}:// address that is not ${scheme}://bucket/folder` : 'an address of an unknown kind'}: ` +
      `write a folder, or ${OBJECT_STORE_SCHEMES.map((one) => `${one}://bucket/folder`).join(', ')}, without credentials in it`,
  );
}
