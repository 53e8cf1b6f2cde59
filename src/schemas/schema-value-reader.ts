/** Values with a schema id before them, as the objects that the message rules are about. */
import { ServingError } from '../errors.ts';
import { readJson } from '../kafka/json-value.ts';
import type { ValueReader } from '../kafka/value-reader.ts';
import type { SchemaFormat } from './codec.ts';
import { undecodable } from './faults.ts';
import type { SchemaStore } from './schema-store.ts';
import { bodyOf, schemaIdOf } from './wire-format.ts';

/** `auto`: any of the three, by the schema's own language, and plain JSON where no schema id is. */
export type FramedFormat = SchemaFormat | 'auto';

export class SchemaValueReader implements ValueReader {
  readonly #format: FramedFormat;
  readonly #store: Pick<SchemaStore, 'get' | 'fetch'>;

  constructor(format: FramedFormat, store: Pick<SchemaStore, 'get' | 'fetch'>) {
    this.#format = format;
    this.#store = store;
  }

  canRead(value: Uint8Array): boolean {
    const id = schemaIdOf(value);
    return id === undefined || this.#store.get(id) !== undefined;
  }

  read(value: Uint8Array): unknown {
    const id = schemaIdOf(value);
    if (id === undefined) {
      if (this.#format === 'auto' || value.byteLength === 0) return readJson(value);
      throw undecodable(`no schema id before it, that is a zero byte and four bytes (${value.byteLength} bytes)`);
    }
    const codec = this.#store.get(id);
    if (codec === undefined) throw new ServingError('INTERNAL', `schema ${id} was not fetched before it was used`);
    if (codec instanceof ServingError) throw codec;
    if (this.#format !== 'auto' && this.#format !== codec.format) {
      throw undecodable(`schema ${id} is ${codec.format}, and KAFKA_VALUE_FORMAT is ${this.#format}`);
    }
    try {
      return codec.decode(bodyOf(value));
    } catch (error) {
      throw named(error, id);
    }
  }

  async prepare(value: Uint8Array, signal?: AbortSignal): Promise<void> {
    const id = schemaIdOf(value);
    if (id === undefined || this.#store.get(id) !== undefined) return;
    const fetched = this.#store.fetch(id);
    if (signal === undefined) return await fetched;
    await Promise.race([fetched, aborted(signal)]);
  }
}

/** Which schema it was that the value did not fit. */
function named(error: unknown, id: number): ServingError {
  if (error instanceof ServingError) return new ServingError(error.code, `${error.message} (schema ${id})`);
  // Too deep for the stack, most likely: a record that holds itself a hundred thousand times.
  return undecodable(`could not be read: ${error instanceof Error ? error.name : typeof error} (schema ${id})`);
}

function aborted(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    const onAbort = () =>
      reject(new ServingError('SCHEMA_REGISTRY_UNAVAILABLE', 'nobody waits for the schema any more'));
    if (signal.aborted) onAbort();
    else signal.addEventListener('abort', onAbort, { once: true });
  });
}
