/**
 * The golden file: texts, and what the model is to say of each. Reading and writing its form, no more.
 *
 * Vectors are base64 of little-endian FP32, so that nothing is lost and the file stays small. Each comes with its length,
 * which tells a damaged vector from a model that went astray.
 */
import { z } from 'zod';
import { ServingError } from '../errors.ts';
import type { VectorDtype } from '../kserve/contract.ts';
import type { Precision } from './bounds.ts';
import { allFinite, lengthOf } from './measures.ts';
import { type LabelledPair, type LabelledText, labelSchema, MOST_ROWS } from './texts.ts';

export const GOLDEN_FORMAT = 'rag-serving/golden';
export const GOLDEN_VERSION = 1;
/** How the reference came about. */
export type Producer = {
  /** `reference`: the unmodified model, run by the export. `endpoint`: a live model, which proves only that it stays as it was. */
  readonly kind: 'reference' | 'endpoint';
  readonly program: string;
  /** Of the program. */
  readonly version: string;
  readonly model: string;
  /** For `endpoint`: when, as ISO 8601. A file of the export has none, so that the same model gives the same file. */
  readonly at?: string | undefined;
  /** What else is known of the model: revision, checksums, pooling … */
  readonly properties: Readonly<Record<string, string>>;
};

type About = {
  /** Null: not known when the file was made. */
  readonly fingerprint: string | null;
  readonly producer: Producer;
  /** Longest row in tokens, special ones included; longer texts were cut to it. Null: not known. */
  readonly maxTokens: number | null;
  /** What the model under test computes in: it decides how close it must come. */
  readonly precision: Precision;
};

export type GoldenText = LabelledText & { readonly vector: Float32Array; readonly tokens?: number | undefined };
export type GoldenPair = LabelledPair & { readonly score: number; readonly tokens?: number | undefined };

export type GoldenEmbedder = About & {
  readonly kind: 'embedder';
  readonly dims: number;
  readonly dtype: VectorDtype;
  readonly rows: readonly GoldenText[];
};

export type GoldenReranker = About & { readonly kind: 'reranker'; readonly rows: readonly GoldenPair[] };

export type Golden = GoldenEmbedder | GoldenReranker;

const label = labelSchema;
const about = {
  format: z.literal(GOLDEN_FORMAT),
  version: z.literal(GOLDEN_VERSION),
  fingerprint: z.string().min(1).max(1_024).nullable(),
  producer: z.strictObject({
    kind: z.enum(['reference', 'endpoint']),
    program: z.string(),
    version: z.string(),
    model: z.string(),
    at: z.iso.datetime().optional(),
    properties: z.record(z.string(), z.string()),
  }),
  maxTokens: z.int().positive().nullable(),
  precision: z.enum(['FP16', 'FP32']),
};
const tokens = z.int().nonnegative().optional();
const textRow = z.strictObject({ label, text: z.string(), tokens, vector: z.base64(), norm: z.number().nonnegative() });
const pairRow = z.strictObject({ label, query: z.string(), passage: z.string(), tokens, score: z.number() });
const goldenFile = z.discriminatedUnion('kind', [
  z.strictObject({
    ...about,
    kind: z.literal('embedder'),
    dims: z.int().positive().max(65_536),
    dtype: z.enum(['FP16', 'FP32']),
    texts: z.array(textRow).min(1).max(MOST_ROWS),
  }),
  z.strictObject({ ...about, kind: z.literal('reranker'), pairs: z.array(pairRow).min(1).max(MOST_ROWS) }),
]);
type GoldenFile = z.infer<typeof goldenFile>;

const MOST_PROBLEMS = 5;
/** Rounding the length to the digits of the file moves it by less. */
const NORM_TOLERANCE = 1e-4;

/** `where`: the file, for messages. Throws ARGUMENT_INVALID, which never quotes a text. */
export function parseGolden(json: string, where: string): Golden {
  let value: unknown;
  try {
    value = JSON.parse(json);
  } catch {
    throw refusal(where, ['it is no JSON']);
  }
  const version = (value as { version?: unknown } | null)?.version;
  if (typeof version === 'number' && version !== GOLDEN_VERSION) {
    throw refusal(where, [`version ${version}: this program reads version ${GOLDEN_VERSION}`]);
  }
  const parsed = goldenFile.safeParse(value, { reportInput: false });
  if (!parsed.success) {
    throw refusal(
      where,
      parsed.error.issues.map(({ path, message }) => `${path.join('.') || 'the whole'}: ${message}`),
    );
  }
  const golden = fromFile(parsed.data);
  const problems = problemsOf(golden, parsed.data);
  if (problems.length > 0) throw refusal(where, problems);
  return golden;
}

/** The text of the file. Throws ARGUMENT_INVALID when a row is not finite: such a reference would pass nothing, or all. */
export function formatGolden(golden: Golden): string {
  const unsound = golden.rows.filter((row) => !allFinite('vector' in row ? row.vector : [row.score]));
  if (unsound.length > 0) {
    throw new ServingError(
      'ARGUMENT_INVALID',
      `not finite, so no reference: ${unsound.map((row) => row.label).join(', ')}`,
    );
  }
  const { rows, kind, ...rest } = golden;
  const head = { format: GOLDEN_FORMAT, version: GOLDEN_VERSION, kind, ...rest };
  const body =
    golden.kind === 'embedder'
      ? {
          texts: golden.rows.map(({ vector, ...row }) => {
            return { ...row, vector: toBase64(vector), norm: Number(lengthOf(vector).toPrecision(7)) };
          }),
        }
      : { pairs: golden.rows };
  return `${JSON.stringify({ ...head, ...body }, undefined, 1)}\n`;
}

function fromFile(file: GoldenFile): Golden {
  const { format: _format, version: _version, ...rest } = file;
  if (rest.kind === 'reranker') {
    const { pairs, ...head } = rest;
    return { ...head, rows: pairs };
  }
  const { texts, ...head } = rest;
  return { ...head, rows: texts.map(({ vector, norm: _norm, ...row }) => ({ ...row, vector: fromBase64(vector) })) };
}

function problemsOf(golden: Golden, file: GoldenFile): string[] {
  const labels = golden.rows.map((row) => row.label);
  const problems = labels
    .filter((one, index) => labels.indexOf(one) !== index)
    .map((one) => `the label ${one} is there twice`);
  if (golden.kind === 'reranker' || file.kind === 'reranker') return problems;
  for (const [index, { label: name, vector }] of golden.rows.entries()) {
    const { norm } = file.texts[index]!;
    if (vector.length !== golden.dims)
      problems.push(`${name}: ${vector.length} dimensions where dims says ${golden.dims}`);
    else if (!allFinite(vector)) problems.push(`${name}: the vector is not finite`);
    else if (!(Math.abs(lengthOf(vector) - norm) <= NORM_TOLERANCE * Math.max(1, norm))) {
      problems.push(`${name}: the vector has another length than norm says, so one of them is damaged`);
    }
  }
  return problems;
}

function refusal(where: string, problems: readonly string[]): ServingError {
  const more = problems.length > MOST_PROBLEMS ? `; and ${problems.length - MOST_PROBLEMS} more` : '';
  const told = problems.slice(0, MOST_PROBLEMS).join('; ');
  return new ServingError('ARGUMENT_INVALID', `${where} is no golden file: ${told}${more}`);
}

function toBase64(vector: Float32Array): string {
  const bytes = Buffer.alloc(vector.length * 4);
  for (const [index, value] of vector.entries()) bytes.writeFloatLE(value, index * 4);
  return bytes.toString('base64');
}

/** A length that is no multiple of 4 shows as a missing dimension. */
function fromBase64(text: string): Float32Array {
  const bytes = Buffer.from(text, 'base64');
  return Float32Array.from({ length: Math.floor(bytes.length / 4) }, (_, index) => bytes.readFloatLE(index * 4));
}
