/**
 * What is asked of a Confluent-compatible schema registry, and what its answers mean.
 *
 * Only a registry's own error code says that something does not exist: a 404 alone can be a proxy's whose registry is away,
 * and would send good messages to the dead letters. Several addresses are one registry: the one that answered last is
 * asked first, and the next one when it is away.
 */
import { isServingError, ServingError } from '../errors.ts';
import { isObject } from '../kafka/chunk-schema.ts';
import type { RegisteredSchema, SchemaFormat } from './codec.ts';
import { type RegistryAccess, type RegistryAnswer, type RegistryCall, RegistryHttp } from './registry-http.ts';

export type RegistryClientOptions = RegistryAccess & { readonly urls: readonly string[] };

export type SubjectSchema = { readonly id: number; readonly version: number; readonly schema: RegisteredSchema };

type Reference = { readonly name: string; readonly subject: string; readonly version: number };

const NOT_FOUND_CODES: readonly unknown[] = [40401, 40402, 40403];
const FORMATS: Readonly<Record<string, SchemaFormat>> = { AVRO: 'avro', JSON: 'json-schema', PROTOBUF: 'protobuf' };
const NAMES = { avro: 'AVRO', 'json-schema': 'JSON', protobuf: 'PROTOBUF' } as const satisfies Record<
  SchemaFormat,
  string
>;
const MAX_REFERENCES = 100;

export class RegistryClient {
  readonly #http: RegistryHttp;
  readonly #urls: readonly string[];
  #preferred = 0;

  constructor(options: RegistryClientOptions) {
    this.#http = new RegistryHttp(options);
    this.#urls = options.urls;
  }

  /** Undefined when the registry says that there is no such id. */
  async schemaById(id: number, signal?: AbortSignal): Promise<RegisteredSchema | undefined> {
    const body = await this.#ask({ method: 'GET', path: `/schemas/ids/${id}` }, signal);
    return body && (await this.#schemaOf(body, `schema ${id}`, signal));
  }

  /** Undefined when there is no such subject. */
  async latest(subject: string, signal?: AbortSignal): Promise<SubjectSchema | undefined> {
    const body = await this.#ask({ method: 'GET', path: versionPath(subject, 'latest') }, signal);
    if (body === undefined) return undefined;
    const schema = await this.#schemaOf(body, `subject ${subject}`, signal);
    return { id: integer(body, 'id'), version: integer(body, 'version'), schema };
  }

  /** Its id; the same schema again has the id that it had. Throws SCHEMA_INVALID for one that is refused. */
  async register(subject: string, { format, text }: RegisteredSchema, signal?: AbortSignal): Promise<number> {
    const body = { schema: text, ...(format !== 'avro' && { schemaType: NAMES[format] }) };
    const path = `/subjects/${encodeURIComponent(subject)}/versions`;
    const answer = await this.#ask({ method: 'POST', path, body }, signal);
    if (answer === undefined) throw odd(`${path} answers that it does not exist`);
    return integer(answer, 'id');
  }

  /** The next question goes to another address first, where there is one. */
  askElsewhere(): void {
    this.#preferred = (this.#preferred + 1) % this.#urls.length;
  }

  close(): void {
    this.#http.close();
  }

  async #schemaOf(body: Record<string, unknown>, what: string, signal: AbortSignal | undefined) {
    const { schema, schemaType = 'AVRO' } = body;
    if (typeof schema !== 'string') throw odd(`${what} comes without its text`);
    const format = typeof schemaType === 'string' ? FORMATS[schemaType] : undefined;
    if (format === undefined)
      throw new ServingError('SCHEMA_INVALID', `${what}: its language is none of ${Object.keys(FORMATS).join(', ')}`);
    const references = new Map<string, string>();
    await this.#resolve(referencesOf(body), references, what, signal);
    return { format, text: schema, references: [...references].map(([name, text]) => ({ name, text })) };
  }

  /** What a reference refers to comes before it. */
  async #resolve(
    references: readonly Reference[],
    into: Map<string, string>,
    what: string,
    signal: AbortSignal | undefined,
    open: ReadonlySet<string> = new Set(),
  ): Promise<void> {
    for (const { name, subject, version } of references) {
      if (into.has(name)) continue;
      if (open.has(name) || open.size + into.size >= MAX_REFERENCES) {
        throw new ServingError(
          'SCHEMA_INVALID',
          `${what}: its references are a circle, or more than ${MAX_REFERENCES}`,
        );
      }
      const body = await this.#ask({ method: 'GET', path: versionPath(subject, String(version)) }, signal);
      if (body === undefined) {
        throw new ServingError(
          'SCHEMA_INVALID',
          `${what} refers to version ${version} of subject ${subject}, which does not exist`,
        );
      }
      if (typeof body.schema !== 'string') throw odd(`version ${version} of ${subject} comes without its text`);
      await this.#resolve(referencesOf(body), into, what, signal, new Set([...open, name]));
      into.set(name, body.schema);
    }
  }

  /** Undefined when the registry says that what is asked for does not exist. */
  async #ask(call: RegistryCall, signal: AbortSignal | undefined): Promise<Record<string, unknown> | undefined> {
    const failures: string[] = [];
    for (let tried = 0; tried < this.#urls.length; tried++) {
      const index = (this.#preferred + tried) % this.#urls.length;
      try {
        const found = meaning(await this.#http.call(this.#urls[index]!, call, signal), this.#urls[index]!);
        this.#preferred = index;
        return found;
      } catch (error) {
        if (!isServingError(error, 'SCHEMA_REGISTRY_UNAVAILABLE')) throw error;
        failures.push(error.message);
      }
    }
    throw new ServingError('SCHEMA_REGISTRY_UNAVAILABLE', failures.join('; '));
  }
}

function meaning({ status, body }: RegistryAnswer, url: string): Record<string, unknown> | undefined {
  const { origin } = new URL(url);
  if (status === 200 && isObject(body)) return body;
  if (status === 401 || status === 403) {
    const says = `schema registry ${origin} answers ${status}: check KAFKA_SCHEMA_REGISTRY_USERNAME and _PASSWORD or _BEARER_TOKEN, and what that user may read`;
    throw new ServingError('SCHEMA_REGISTRY_ACCESS_DENIED', says);
  }
  const code = isObject(body) ? body.error_code : undefined;
  if (status === 404 && NOT_FOUND_CODES.includes(code)) return undefined;
  if (status === 409 || status === 422) {
    const says = isObject(body) && typeof body.message === 'string' ? `: ${body.message.slice(0, 300)}` : '';
    throw new ServingError('SCHEMA_INVALID', `schema registry ${origin} refuses the schema (${status})${says}`);
  }
  const hint = status === 404 ? ' without an error code of a registry: is the path of the address right?' : '';
  throw new ServingError('SCHEMA_REGISTRY_UNAVAILABLE', `schema registry ${origin} answers ${status}${hint}`);
}

function referencesOf({ references }: Record<string, unknown>): readonly Reference[] {
  return Array.isArray(references) ? (references as Reference[]) : [];
}

function versionPath(subject: string, version: string): string {
  return `/subjects/${encodeURIComponent(subject)}/versions/${version}`;
}

function integer(body: Record<string, unknown>, field: string): number {
  const value = body[field];
  if (typeof value === 'number' && Number.isInteger(value)) return value;
  throw odd(`an answer comes without ${field}`);
}

function odd(says: string): ServingError {
  return new ServingError('SCHEMA_REGISTRY_UNAVAILABLE', `schema registry: ${says}`);
}
