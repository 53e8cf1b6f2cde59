/**
 * What a version of a model is: its files by content, and what they were built for. Written once, never changed.
 *
 * A manifest's digest is that of its bytes as stored. Its content digest leaves out when it was made and what it is called,
 * so that pushing the same folder again is known to be the same.
 */
import { createHash } from 'node:crypto';
import { z } from 'zod';
import { ServingError } from '../errors.ts';
import { clashingPath, pathProblem } from './safe-path.ts';

export const MANIFEST_FORMAT = 'rag-serving-model/1';

const sha256 = z.string().regex(/^[0-9a-f]{64}$/);
const line = z.string().min(1).max(512);
const path = z.string().refine((text) => pathProblem(text) === undefined, {
  error: (issue) => `a path that ${pathProblem(String(issue.input))}`,
});

const fileSchema = z.object({
  path,
  sha256,
  sizeBytes: z.number().int().nonnegative(),
  executable: z.boolean().optional(),
});

const engineSchema = z.object({
  gpu: line,
  computeCapability: z
    .string()
    .regex(/^\d{1,3}\.\d{1,2}$/)
    .nullable(),
  tensorrt: z.string().regex(/^\d+(\.\d+){1,3}$/),
  cuda: line.nullable(),
});

const manifestSchema = z.object({
  format: z.literal(MANIFEST_FORMAT),
  name: line,
  version: line,
  createdAt: z.iso.datetime(),
  /** `engine`: runs on one kind of GPU with one TensorRT. `onnx`, `files`: anywhere. */
  kind: z.enum(['engine', 'onnx', 'files']),
  engine: engineSchema.nullable(),
  fingerprint: z.record(z.string().max(128), z.string().max(1_024)).nullable(),
  /** The file with golden texts and vectors, for `models check`. */
  golden: path.nullable(),
  /** Commit or revision of what it was made from. */
  sourceRevision: line.nullable(),
  files: z.array(fileSchema).min(1).max(100_000),
});

export type ModelFile = z.infer<typeof fileSchema>;
export type EngineBuild = z.infer<typeof engineSchema>;
export type Manifest = z.infer<typeof manifestSchema>;

export type StoredManifest = { readonly manifest: Manifest; readonly sha256: string };

export function encodeManifest(manifest: Manifest): { readonly bytes: Buffer; readonly sha256: string } {
  const bytes = Buffer.from(`${JSON.stringify(manifestSchema.parse(manifest), null, 2)}\n`, 'utf8');
  return { bytes, sha256: sha256Hex(bytes) };
}

/** Throws REGISTRY_CORRUPT, saying which field of which object is wrong. */
export function decodeManifest(bytes: Buffer, where: string): StoredManifest {
  const parsed = manifestSchema.safeParse(jsonOf(bytes, where));
  if (!parsed.success) throw corrupt(where, parsed.error);
  const manifest = parsed.data;
  const clash = clashingPath(manifest.files.map((file) => file.path));
  if (clash !== undefined) {
    throw new ServingError('REGISTRY_CORRUPT', `${where}: two files share the path ${JSON.stringify(clash)}; refused`);
  }
  if (manifest.kind === 'engine' && manifest.engine === null) {
    throw new ServingError('REGISTRY_CORRUPT', `${where}: an engine that does not say what it was built for; refused`);
  }
  if (manifest.golden !== null && !manifest.files.some((file) => file.path === manifest.golden)) {
    throw new ServingError('REGISTRY_CORRUPT', `${where}: "golden" names no file of the model; refused`);
  }
  return { manifest, sha256: sha256Hex(bytes) };
}

export function contentDigest(manifest: Omit<Manifest, 'name' | 'version' | 'createdAt'>): string {
  const { kind, engine, fingerprint, golden, sourceRevision } = manifest;
  const files = manifest.files
    .map((file) => [file.path, file.sha256, file.sizeBytes, file.executable === true])
    .sort(([a], [b]) => (String(a) < String(b) ? -1 : 1));
  const build = engine === null ? null : [engine.gpu, engine.computeCapability, engine.tensorrt, engine.cuda];
  const prints = fingerprint === null ? null : Object.entries(fingerprint).sort(([a], [b]) => (a < b ? -1 : 1));
  return sha256Hex(Buffer.from(JSON.stringify([kind, build, prints, golden, sourceRevision, files])));
}

const tagSchema = z.object({ format: z.literal('rag-serving-tag/1'), version: line, sha256 });

export type Tag = Pick<z.infer<typeof tagSchema>, 'version' | 'sha256'>;

export function encodeTag({ version, sha256: digest }: Tag): Buffer {
  return Buffer.from(`${JSON.stringify({ format: 'rag-serving-tag/1', version, sha256: digest })}\n`, 'utf8');
}

export function decodeTag(bytes: Buffer, where: string): Tag {
  const parsed = tagSchema.safeParse(jsonOf(bytes, where));
  if (!parsed.success) throw corrupt(where, parsed.error);
  return parsed.data;
}

/** Every blob of the model once, with its size. */
export function blobsOf(files: readonly ModelFile[]): ReadonlyMap<string, number> {
  return new Map(files.map((file) => [file.sha256, file.sizeBytes]));
}

export function sha256Hex(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('hex');
}

function jsonOf(bytes: Buffer, where: string): unknown {
  try {
    return JSON.parse(bytes.toString('utf8'));
  } catch {
    throw new ServingError('REGISTRY_CORRUPT', `${where} is no JSON (${bytes.length} bytes); push the model again`);
  }
}

function corrupt(where: string, error: z.ZodError): ServingError {
  const told = error.issues.slice(0, 3).map((issue) => `${issue.path.join('.') || 'the whole'}: ${issue.message}`);
  return new ServingError('REGISTRY_CORRUPT', `${where} is no manifest that this version reads: ${told.join('; ')}`);
}
