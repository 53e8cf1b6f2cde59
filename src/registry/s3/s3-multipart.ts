/**
 * A large blob as an upload in parts, several at once, gone on with where an earlier one stopped.
 *
 * A part of an earlier upload counts only when its size and ETag are those of our part. Where a server's ETag is no MD5 (some
 * kinds of encryption), nothing matches and the parts are sent again: slower, never wrong.
 */
import {
  AbortMultipartUploadCommand,
  CompleteMultipartUploadCommand,
  CreateMultipartUploadCommand,
  ListMultipartUploadsCommand,
  ListPartsCommand,
  type S3Client,
  UploadPartCommand,
} from '@aws-sdk/client-s3';
import { inParallel } from '../parallel.ts';
import { partRanges } from '../parts.ts';
import type { BlobSource, OnBytes, Upload } from '../storage.ts';
import { factsOf } from './s3-errors.ts';

export type Target = {
  readonly client: S3Client;
  readonly bucket: string;
  /** With the registry's prefix. */
  readonly key: string;
  readonly concurrency: number;
};

export async function uploadInParts(
  target: Target,
  source: BlobSource,
  onBytes: OnBytes,
  signal: AbortSignal,
): Promise<void> {
  const { client, bucket: Bucket, key: Key } = target;
  const UploadId = (await latestUpload(target, signal)) ?? (await beginUpload(target, signal));
  const etags = await matchingParts(target, UploadId, source, signal);
  const ranges = partRanges(source.sizeBytes, source.partBytes);
  for (const index of etags.keys()) onBytes(sizeOf(ranges[index]));
  const missing = [...ranges.keys()].filter((index) => !etags.has(index));
  const send = async (index: number, partSignal: AbortSignal) => {
    const Body = await source.readPart(index);
    const command = new UploadPartCommand({ Bucket, Key, UploadId, PartNumber: index + 1, Body });
    const { ETag } = await client.send(command, { abortSignal: partSignal });
    etags.set(index, ETag ?? '');
    onBytes(Body.length);
  };
  await inParallel(missing, target.concurrency, send, signal);
  const Parts = [...ranges.keys()].map((index) => ({ PartNumber: index + 1, ETag: etags.get(index) }));
  const whole = new CompleteMultipartUploadCommand({ Bucket, Key, UploadId, MultipartUpload: { Parts } });
  await client.send(whole, { abortSignal: signal });
}

/** Another push may have ended or given up the upload that we go on with. */
function isUploadGone(error: unknown): boolean {
  return error instanceof Error && factsOf(error).name === 'NoSuchUpload';
}

/** The same, and what a server says that trips over it: one that ended the upload while our part was on its way. */
export function isOvertaken(error: unknown): boolean {
  return isUploadGone(error) || (error instanceof Error && factsOf(error).status === 500);
}

export async function* unfinishedUploads(
  client: S3Client,
  bucket: string,
  prefix: string,
  signal: AbortSignal,
): AsyncIterable<Upload> {
  let markers: { KeyMarker?: string | undefined; UploadIdMarker?: string | undefined } = {};
  for (;;) {
    const command = new ListMultipartUploadsCommand({ Bucket: bucket, Prefix: prefix, ...markers });
    const page = await client.send(command, { abortSignal: signal });
    for (const { UploadId, Key, Initiated } of page.Uploads ?? []) {
      if (UploadId === undefined || Key === undefined) continue;
      yield { id: UploadId, key: Key, startedAtMs: Initiated?.getTime() ?? 0 };
    }
    if (page.IsTruncated !== true) return;
    markers = { KeyMarker: page.NextKeyMarker, UploadIdMarker: page.NextUploadIdMarker };
  }
}

export async function giveUpUpload(
  client: S3Client,
  bucket: string,
  { key, id }: Upload,
  signal: AbortSignal,
): Promise<void> {
  try {
    const command = new AbortMultipartUploadCommand({ Bucket: bucket, Key: key, UploadId: id });
    await client.send(command, { abortSignal: signal });
  } catch (error) {
    if (!isUploadGone(error)) throw error;
  }
}

async function latestUpload({ client, bucket, key }: Target, signal: AbortSignal): Promise<string | undefined> {
  let latest: Upload | undefined;
  try {
    for await (const upload of unfinishedUploads(client, bucket, key, signal)) {
      if (upload.key === key && (latest === undefined || upload.startedAtMs >= latest.startedAtMs)) latest = upload;
    }
  } catch (error) {
    signal.throwIfAborted();
    // Going on with an earlier upload is a favour that needs a right of its own, which writing does not.
    if (!(error instanceof Error) || ![403, 404, 405, 501].includes(factsOf(error).status ?? 0)) throw error;
  }
  return latest?.id;
}

async function beginUpload({ client, bucket, key }: Target, signal: AbortSignal): Promise<string> {
  const command = new CreateMultipartUploadCommand({ Bucket: bucket, Key: key });
  const { UploadId } = await client.send(command, { abortSignal: signal });
  return UploadId ?? '';
}

async function matchingParts(
  { client, bucket, key }: Target,
  UploadId: string,
  source: BlobSource,
  signal: AbortSignal,
): Promise<Map<number, string>> {
  const ranges = partRanges(source.sizeBytes, source.partBytes);
  const found = new Map<number, string>();
  let marker: string | undefined;
  for (;;) {
    const command = new ListPartsCommand({ Bucket: bucket, Key: key, UploadId, PartNumberMarker: marker });
    const page = await client.send(command, { abortSignal: signal });
    for (const { PartNumber = 0, Size, ETag = '' } of page.Parts ?? []) {
      const index = PartNumber - 1;
      const same = Size === sizeOf(ranges[index]) && ETag.replaceAll('"', '') === source.partMd5[index];
      if (same) found.set(index, ETag);
    }
    // Not by the marker alone, as the SDK's own paginator does: some servers name one on the last page too.
    if (page.IsTruncated !== true) return found;
    marker = page.NextPartNumberMarker;
  }
}

function sizeOf(range: { readonly start: number; readonly end: number } | undefined): number {
  return range === undefined ? -1 : range.end - range.start;
}
