/**
 * The note that a pull leaves in its folder: what it holds, and how its files looked when they were whole, so that the next pull
 * knows without reading them that nothing changed.
 */
import { readdir, readFile, stat } from 'node:fs/promises';
import { join, relative, sep } from 'node:path';
import { z } from 'zod';
import { ServingError } from '../errors.ts';
import { sha256OfFile } from '../sha256-file.ts';
import { writeDurably } from './durable-files.ts';
import { decodeManifest, encodeManifest, type ModelFile, type StoredManifest } from './manifest.ts';
import { RECEIPT_NAME } from './safe-path.ts';

const receiptSchema = z.object({
  format: z.literal('rag-serving-receipt/1'),
  registry: z.string(),
  sha256: z.string(),
  manifest: z.unknown(),
  /** Time of the last change of each file, in milliseconds. */
  changedAtMs: z.record(z.string(), z.number()),
});

export type Receipt = StoredManifest & {
  readonly registry: string;
  readonly changedAtMs: Readonly<Record<string, number>>;
};

export async function writeReceipt(folder: string, registry: string, stored: StoredManifest): Promise<void> {
  const changedAtMs: Record<string, number> = {};
  for (const { path } of stored.manifest.files) changedAtMs[path] = (await stat(join(folder, path))).mtimeMs;
  const manifest: unknown = JSON.parse(encodeManifest(stored.manifest).bytes.toString('utf8'));
  const receipt = { format: 'rag-serving-receipt/1', registry, sha256: stored.sha256, manifest, changedAtMs };
  await writeDurably(join(folder, RECEIPT_NAME), Buffer.from(`${JSON.stringify(receipt, null, 2)}\n`, 'utf8'));
}

/** Undefined where no pull has written, or its note is not to be read. */
export async function readReceipt(folder: string): Promise<Receipt | undefined> {
  const text = await readFile(join(folder, RECEIPT_NAME), 'utf8').catch(() => undefined);
  if (text === undefined) return undefined;
  try {
    const { manifest, sha256, registry, changedAtMs } = receiptSchema.parse(JSON.parse(text));
    const decoded = decodeManifest(Buffer.from(JSON.stringify(manifest), 'utf8'), RECEIPT_NAME);
    return { manifest: decoded.manifest, sha256, registry, changedAtMs };
  } catch {
    return undefined;
  }
}

/** Whether every file is as it was pulled; only one that looks otherwise is read. */
export async function isIntact(folder: string, receipt: Receipt, signal: AbortSignal): Promise<boolean> {
  for (const file of receipt.manifest.files) {
    const found = await stat(join(folder, file.path)).catch(() => undefined);
    if (found?.isFile() !== true || found.size !== file.sizeBytes) return false;
    if (found.mtimeMs === receipt.changedAtMs[file.path]) continue;
    if ((await sha256OfFile(join(folder, file.path), signal)) !== file.sha256) return false;
  }
  return true;
}

export type FolderFinding = { readonly path: string; readonly problem: 'missing' | 'changed' | 'not of the model' };

/** Reads every file. */
export async function compareFolder(
  folder: string,
  files: readonly ModelFile[],
  onBytes: (bytes: number) => void,
  signal: AbortSignal,
): Promise<readonly FolderFinding[]> {
  const findings: FolderFinding[] = [];
  for (const { path, sha256, sizeBytes } of files) {
    const found = await stat(join(folder, path)).catch(() => undefined);
    if (found?.isFile() !== true) findings.push({ path, problem: 'missing' });
    else if (found.size !== sizeBytes || (await sha256OfFile(join(folder, path), signal)) !== sha256) {
      findings.push({ path, problem: 'changed' });
    }
    onBytes(sizeBytes);
  }
  const known = new Set([RECEIPT_NAME, ...files.map(({ path }) => path)]);
  for (const path of await filesBelow(folder)) {
    if (!known.has(path)) findings.push({ path, problem: 'not of the model' });
  }
  return findings;
}

async function filesBelow(folder: string): Promise<readonly string[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true }).catch(() => {
    throw new ServingError(
      'ARGUMENT_INVALID',
      `${folder} is no folder that can be read; name one that "models pull" wrote`,
    );
  });
  return entries
    .filter((entry) => !entry.isDirectory())
    .map((entry) => relative(folder, join(entry.parentPath, entry.name)).split(sep).join('/'));
}
