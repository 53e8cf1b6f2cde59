/**
 * What S3, or what stands in its place, says: as an error for the person who can mend it, naming the setting. The server's
 * own words are left out: they quote key ids, and pages of proxies quote anything. Pure.
 */
import { isServingError, ServingError } from '../../errors.ts';

export type S3Place = {
  readonly bucket: string;
  /** Undefined: AWS itself. */
  readonly endpoint: string | undefined;
  readonly region: string;
};

const CREDENTIALS = 'AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, AWS_PROFILE, or a role of the pod (IRSA) or machine';
const ENDPOINT = 'RAG_SERVING_MODEL_REGISTRY_ENDPOINT (or AWS_ENDPOINT_URL)';

const EXPIRED = new Set(['ExpiredToken', 'ExpiredTokenException', 'TokenRefreshRequired', 'RequestExpired']);
const WRONG_KEY = new Set([
  'InvalidAccessKeyId',
  'SignatureDoesNotMatch',
  'InvalidToken',
  'UnrecognizedClientException',
]);
const DENIED = new Set(['AccessDenied', 'AllAccessDisabled', 'AccountProblem', 'InvalidPayer', 'Forbidden', '403']);
const NO_CREDENTIALS = new Set(['CredentialsProviderError', 'ProviderError', 'TokenProviderError']);
const OTHER_REGION = new Set([
  'PermanentRedirect',
  'AuthorizationHeaderMalformed',
  'IllegalLocationConstraintException',
]);
const CLOCK = new Set(['RequestTimeTooSkewed']);
const TLS = /^(UNABLE_TO_|SELF_SIGNED_|DEPTH_ZERO_|CERT_|ERR_TLS_|ERR_SSL_|EPROTO$|HOSTNAME_MISMATCH)/;
const NO_CONNECTION = new Set([
  'ECONNREFUSED',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'EADDRNOTAVAIL',
]);
/** In the middle of a request or an answer. */
const BROKEN = new Set(['ECONNRESET', 'ECONNABORTED', 'EPIPE', 'ETIMEDOUT', 'ERR_STREAM_PREMATURE_CLOSE']);

/** `doing` reads as "writing blobs/…". An error of ours, or of the caller's signal, stays what it is. */
export function asS3Error(error: unknown, place: S3Place, doing: string): unknown {
  if (isServingError(error) || !(error instanceof Error) || error.name === 'AbortError') return error;
  const { name, code, status } = factsOf(error);
  const where = `s3://${place.bucket}: ${doing}`;
  const said = `${name}${status === undefined ? '' : `, HTTP ${status}`}`;
  // The origin alone: an address may hold a password.
  const server = place.endpoint === undefined ? 'AWS' : new URL(place.endpoint).origin;
  if (NO_CREDENTIALS.has(name)) {
    return denied(`${where}: there are no credentials, or they cannot be had (${name}); set ${CREDENTIALS}`);
  }
  if (EXPIRED.has(name)) {
    return denied(
      `${where}: the credentials have expired (${said}); renew the session, or AWS_SESSION_TOKEN with its keys`,
    );
  }
  if (WRONG_KEY.has(name)) {
    return denied(
      `${where}: ${server} does not accept the credentials (${said}); check ${CREDENTIALS}, and ${ENDPOINT}`,
    );
  }
  if (CLOCK.has(name)) return denied(`${where}: this machine's clock is wrong (${said}); set it`);
  if (name === 'NoSuchBucket') {
    return new ServingError(
      'REGISTRY_NOT_FOUND',
      `${where}: there is no such bucket at ${server}; create it, or mend MODEL_REGISTRY_STORAGE_URI or ${ENDPOINT}`,
    );
  }
  if (OTHER_REGION.has(name) || status === 301) {
    return denied(`${where}: the bucket is in another region than ${place.region} (${said}); set AWS_DEFAULT_REGION`);
  }
  if (DENIED.has(name) || status === 403) {
    return denied(
      `${where}: the credentials are known and may not do this (${said}); allow s3:ListBucket, s3:GetObject, and to push s3:PutObject, s3:AbortMultipartUpload, s3:ListMultipartUploadParts`,
    );
  }
  if (TLS.test(code)) {
    return new ServingError(
      'REGISTRY_UNAVAILABLE',
      `${where}: ${server} is not trusted, or speaks no TLS (${code}); name its authority in RAG_SERVING_MODEL_REGISTRY_CA_CERT_PATH, or mend ${ENDPOINT}`,
    );
  }
  if (NO_CONNECTION.has(code)) {
    return unavailable(`${where}: ${server} cannot be reached (${code}); check ${ENDPOINT} and the network`);
  }
  if (code.startsWith('HPE_') || isNoS3(error)) {
    return new ServingError(
      'REGISTRY_UNAVAILABLE',
      `${where}: what answers at ${server} is no S3 (${code || said}); check ${ENDPOINT}`,
    );
  }
  if (status === 404 || status === 405 || status === 501) {
    return new ServingError(
      'REGISTRY_NOT_FOUND',
      `${where}: ${server} does not know it (${said}); check MODEL_REGISTRY_STORAGE_URI and ${ENDPOINT}`,
    );
  }
  // Not of S3: the disk that is read from, for one.
  if (status === undefined && name !== 'TimeoutError' && !BROKEN.has(code)) return error;
  return unavailable(`${where}: it failed, and again when retried (${code || said}); try again later`);
}

export type S3Facts = { readonly name: string; readonly code: string; readonly status: number | undefined };

/** Name of the answer, code of the socket, status: from an error of the SDK or of Node. */
export function factsOf(error: Error): S3Facts {
  const { $metadata, code } = error as { $metadata?: { httpStatusCode?: number }; code?: unknown };
  const cause = error.cause instanceof Error ? (error.cause as { code?: unknown }).code : undefined;
  const known = typeof code === 'string' ? code : typeof cause === 'string' ? cause : '';
  // Some servers put anything into the name.
  const name = /^[A-Za-z0-9]{1,64}$/.test(error.name) ? error.name : 'an unknown error';
  return { name, code: /^[A-Z0-9_]{1,64}$/.test(known) ? known : '', status: $metadata?.httpStatusCode };
}

/** The SDK could not read the answer. */
function isNoS3(error: Error): boolean {
  return '$responseBodyText' in error || /Deserialization error/.test(error.message);
}

function denied(message: string): ServingError {
  return new ServingError('REGISTRY_ACCESS_DENIED', message);
}

function unavailable(message: string): ServingError {
  return new ServingError('REGISTRY_UNAVAILABLE', message);
}
