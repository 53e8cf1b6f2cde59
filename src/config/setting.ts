/**
 * What a setting is: its name, what it means, how its text is read. The tables in sections/ are made of these; the
 * reader, .env.example and the documentation are all derived from them, so a setting is written down once.
 *
 * Parsers say the shape of a refused value (length, kind), never the value: any variable may hold a misplaced secret.
 */
export const poolTypes = ['online_embedding', 'online_reranker', 'batch_ingestion'] as const;
export type PoolType = (typeof poolTypes)[number];

export const logLevels = ['DEBUG', 'INFO', 'WARNING', 'ERROR'] as const;
export type LogLevel = (typeof logLevels)[number];

export type Parsed<T> =
  | { readonly ok: true; readonly value: T }
  /** `problem` reads after the name of the setting: shape of the value, then the remedy. */
  | { readonly ok: false; readonly problem: string };

export type Fallback<T> =
  | { readonly kind: 'value'; readonly value: T }
  | { readonly kind: 'by-pool'; readonly values: Readonly<Record<PoolType, T>> };

export type Setting<T> = {
  readonly name: string;
  readonly doc: string;
  /** What may be written, for people: `integer 1–4096`. */
  readonly accepts: string;
  readonly secret: boolean;
  /** Why an empty value is refused here and does not mean unset. */
  readonly emptyProblem: string | undefined;
  readonly fallback: Fallback<T>;
  /** Says what happens when it is unset and the default is not a fixed value. */
  readonly defaultNote: string | undefined;
  /** Gets trimmed, non-empty text. */
  readonly parse: (text: string) => Parsed<T>;
};

// biome-ignore lint/suspicious/noExplicitAny: a table of settings of every type; ValuesOf gives each its own type back.
export type Settings = Readonly<Record<string, Setting<any>>>;
export type ValuesOf<S extends Settings> = { readonly [K in keyof S]: S[K] extends Setting<infer T> ? T : never };

export type Doc = { readonly doc: string; readonly defaultNote?: string; readonly emptyProblem?: string };

export function ok<T>(value: T): Parsed<T> {
  return { ok: true, value };
}

export function refuse(problem: string): Parsed<never> {
  return { ok: false, problem };
}

/** `4 characters`, for a value that cannot be shown. */
export function shapeOf(text: string): string {
  return text.length === 1 ? '1 character' : `${text.length} characters`;
}

export function defineSetting<T>(
  name: string,
  accepts: string,
  fallback: Fallback<T>,
  about: Doc,
  parse: (text: string) => Parsed<T>,
  secret = false,
): Setting<T> {
  const { doc, defaultNote, emptyProblem } = about;
  return { name, accepts, fallback, doc, defaultNote, emptyProblem, parse, secret };
}

export function always<T>(value: T): Fallback<T> {
  return { kind: 'value', value };
}

export function byPool<T>(onlineEmbedding: T, onlineReranker: T, batchIngestion: T): Fallback<T> {
  return {
    kind: 'by-pool',
    values: { online_embedding: onlineEmbedding, online_reranker: onlineReranker, batch_ingestion: batchIngestion },
  };
}

export const unset: Fallback<undefined> = always(undefined);
