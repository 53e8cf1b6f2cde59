/**
 * The SDK's client as we want it: bounded waits, retries with back-off that it does itself, and no checksums beyond what S3
 * always had, which other servers often lack. Parts travel signed, so the server checks each.
 *
 * Credentials that are set as variables are passed on; otherwise the SDK looks where it always does (profile, web identity of
 * a pod, container, instance metadata).
 */
import { Agent as HttpAgent } from 'node:http';
import { Agent as HttpsAgent } from 'node:https';
import { S3Client } from '@aws-sdk/client-s3';
import type { Secret } from '../../config/secret.ts';

export type S3Options = {
  readonly bucket: string;
  /** Ends in `/`, or is empty. */
  readonly prefix: string;
  readonly region: string;
  readonly endpoint: string | undefined;
  readonly addressing: 'path' | 'virtual-host';
  /** PEM text; undefined: the authorities that Node brings. */
  readonly ca: string | undefined;
  readonly credentials:
    | { readonly accessKeyId: Secret; readonly secretAccessKey: Secret; readonly sessionToken: Secret | undefined }
    | undefined;
  /** Longest silence of the server. */
  readonly timeoutMs: number;
  readonly attempts: number;
  /** Requests at once. */
  readonly concurrency: number;
};

const CONNECT_MS = 10_000;
/** It would write to the console, past every mask. What matters comes as an error. */
const SILENT = { trace: () => {}, debug: () => {}, info: () => {}, warn: () => {}, error: () => {} };

export function createS3Client(options: S3Options): S3Client {
  const { region, endpoint, ca, credentials, timeoutMs, attempts, concurrency } = options;
  // A few more than the parts in flight: a listing goes on beside them.
  const agent = { keepAlive: true, maxSockets: concurrency + 4 };
  return new S3Client({
    region,
    ...(endpoint === undefined ? {} : { endpoint }),
    forcePathStyle: options.addressing === 'path',
    logger: SILENT,
    maxAttempts: attempts,
    retryMode: 'standard',
    requestChecksumCalculation: 'WHEN_REQUIRED',
    responseChecksumValidation: 'WHEN_REQUIRED',
    requestHandler: {
      connectionTimeout: Math.min(CONNECT_MS, timeoutMs),
      socketTimeout: timeoutMs,
      logger: SILENT,
      httpAgent: new HttpAgent(agent),
      httpsAgent: new HttpsAgent({ ...agent, ...(ca === undefined ? {} : { ca }) }),
    },
    ...(credentials === undefined
      ? {}
      : {
          credentials: {
            accessKeyId: credentials.accessKeyId.reveal(),
            secretAccessKey: credentials.secretAccessKey.reveal(),
            ...(credentials.sessionToken === undefined ? {} : { sessionToken: credentials.sessionToken.reveal() }),
          },
        }),
  });
}
