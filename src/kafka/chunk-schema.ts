/**
 * Schemas of a chunk message, compiled once, and their failures in words that never quote a value.
 *
 * zod's and JSON.parse's own messages hold the input, so each rule carries a constant text of what it expects, and the
 * value is only told by its shape. `null` in an optional field counts as absent.
 */
import { z } from 'zod';
import type { JsonObject } from '../records/chunk.ts';
import { isWellFormed } from './text-limit.ts';

export const MAX_ID_BYTES = 512;
export const MAX_METADATA_BYTES = 16_384;
/** Deeper nesting overflows the stack of whoever serializes it. */
export const MAX_METADATA_DEPTH = 64;

const ID_EXPECTED = `a string of 1 to ${MAX_ID_BYTES} bytes of well-formed Unicode`;
const id = z.string(ID_EXPECTED).refine(isId, ID_EXPECTED);
const optionalId = id.nullish().transform((value) => value ?? undefined);
const version = z
  .int('an integer from 0 to 2^53 - 1')
  .min(0, 'an integer from 0 to 2^53 - 1')
  .nullish()
  .transform((value) => value ?? undefined);
const METADATA_EXPECTED = `a JSON object of at most ${MAX_METADATA_BYTES} bytes, nested at most ${MAX_METADATA_DEPTH} deep`;
const metadata = z
  .custom<JsonObject>(isMetadata, METADATA_EXPECTED)
  .nullish()
  .transform((value) => value ?? undefined);

const inherited = { document_id: optionalId, tenant_id: optionalId, version, metadata };

export const chunkSchema = z.object({ chunk_id: id, text: z.string('a string'), ...inherited }, 'a JSON object');
export type ChunkFields = z.output<typeof chunkSchema>;

/** What the chunks of a batch message share; each chunk may say its own. */
export const batchSchema = z.object(
  { chunks: z.array(z.unknown(), 'a non-empty array').min(1, 'a non-empty array'), ...inherited },
  'a JSON object',
);
export type BatchFields = z.output<typeof batchSchema>;

export const chunkFieldNames: ReadonlySet<string> = new Set(Object.keys(chunkSchema.shape));

/** `chunk_id: expected a string …, got number`, from the first problem. */
export function describeProblem(error: z.ZodError, input: unknown): string {
  const issue = error.issues[0];
  if (issue === undefined) return 'value: not accepted';
  let value: unknown = input;
  for (const key of issue.path) value = isObject(value) && Object.hasOwn(value, key) ? value[key as string] : undefined;
  const field = issue.path.length === 0 ? 'value' : issue.path.map(String).join('.');
  return `${field}: expected ${issue.message}, got ${shapeOf(value)}`;
}

/** A value by its type and size, never by its content. */
export function shapeOf(value: unknown): string {
  if (value === undefined) return 'nothing';
  if (value === null) return 'null';
  if (typeof value === 'string') return `a string of ${Buffer.byteLength(value)} bytes`;
  if (Array.isArray(value)) return `an array of ${value.length}`;
  if (value instanceof Uint8Array) return `${value.byteLength} bytes`;
  return typeof value === 'object' ? `an object of ${Object.keys(value).length} fields` : `a ${typeof value}`;
}

export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** An id that repaired surrogates would be another id, so it is refused instead. */
export function isId(value: string): boolean {
  if (value.length === 0 || value.length > MAX_ID_BYTES || !isWellFormed(value)) return false;
  return Buffer.byteLength(value, 'utf8') <= MAX_ID_BYTES;
}

export function isMetadata(value: unknown): boolean {
  if (!isObject(value) || !isShallow(value)) return false;
  return Buffer.byteLength(JSON.stringify(value), 'utf8') <= MAX_METADATA_BYTES;
}

/** Level by level and not recursive: 200,000 nested brackets are a valid JSON text. */
function isShallow(value: object): boolean {
  let level: object[] = [value];
  for (let depth = 0; level.length > 0; depth++) {
    if (depth >= MAX_METADATA_DEPTH) return false;
    level = level.flatMap((node) =>
      Object.values(node).filter((child): child is object => typeof child === 'object' && child !== null),
    );
  }
  return true;
}
