/**
 * Schemas by id: kept once known, asked for once at a time each, and for as long as the registry is away.
 *
 * That an id does not exist is believed when two answers, some time apart and from two addresses where there are two, say
 * so: a replica of the registry may not have heard yet of a schema that its leader has just given to a producer. It is
 * forgotten again after a while, and so is what a schema of no use is told by.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Clock } from '../clock.ts';
import { asServingError, ServingError } from '../errors.ts';
import { type BackoffPolicy, backoffMs } from '../resilience/backoff.ts';
import type { ValueCodec } from './codec.ts';
import type { RegistryClient } from './registry-client.ts';
import { schemaCodec } from './schema-codec.ts';

export type SchemaStoreOptions = {
  readonly client: Pick<RegistryClient, 'schemaById' | 'askElsewhere'>;
  readonly clock: Clock;
  readonly maxSchemas: number;
  /** How long a verdict about an id that cannot be used holds. */
  readonly unusableTtlMs: number;
  /** Between the two answers that make an id unknown. */
  readonly confirmMs: number;
  readonly backoff: BackoffPolicy;
  /** Told of each failed attempt, and when the registry answers again. */
  readonly onTrouble: (error: ServingError) => void;
  readonly onWell: () => void;
};

/** A codec, or why no value of this id can be read. */
type Entry = { readonly verdict: ValueCodec | ServingError; readonly untilMs: number };

export class SchemaStore {
  readonly #options: SchemaStoreOptions;
  /** Longest known first. */
  readonly #entries = new Map<number, Entry>();
  readonly #underway = new Map<number, Promise<void>>();
  readonly #closing = new AbortController();

  constructor(options: SchemaStoreOptions) {
    this.#options = options;
  }

  /** Undefined for what has to be fetched first. */
  get(id: number): ValueCodec | ServingError | undefined {
    const entry = this.#entries.get(id);
    if (entry === undefined || entry.untilMs === Number.POSITIVE_INFINITY) return entry?.verdict;
    if (this.#options.clock.monotonicMs() < entry.untilMs) return entry.verdict;
    this.#entries.delete(id);
    return undefined;
  }

  /** Resolves when `get` has it. Rejects with class `fatal`, or with class `outage` once the store is closed. */
  fetch(id: number): Promise<void> {
    const underway = this.#underway.get(id);
    if (underway !== undefined) return underway;
    const fetching = this.#fetch(id).finally(() => this.#underway.delete(id));
    this.#underway.set(id, fetching);
    return fetching;
  }

  close(): void {
    this.#closing.abort();
  }

  async #fetch(id: number): Promise<void> {
    const { clock, unusableTtlMs } = this.#options;
    const verdict = await this.#verdict(id);
    const untilMs = verdict instanceof ServingError ? clock.monotonicMs() + unusableTtlMs : Number.POSITIVE_INFINITY;
    this.#entries.delete(id);
    for (const oldest of this.#entries.keys()) {
      if (this.#entries.size < this.#options.maxSchemas) break;
      this.#entries.delete(oldest);
    }
    this.#entries.set(id, { verdict, untilMs });
  }

  async #verdict(id: number): Promise<ValueCodec | ServingError> {
    const { client, confirmMs } = this.#options;
    const { signal } = this.#closing;
    let denied = false;
    for (let attempt = 1; ; attempt++) {
      try {
        if (signal.aborted) throw closed();
        const schema = await client.schemaById(id, signal);
        this.#options.onWell();
        if (schema !== undefined) return schemaCodec(schema, `schema ${id}`);
        if (denied) return new ServingError('SCHEMA_UNKNOWN', `value: the registry knows no schema ${id}`);
        denied = true;
        client.askElsewhere();
        await pause(confirmMs, signal);
      } catch (thrown) {
        if (signal.aborted) throw closed();
        const error = asServingError(thrown);
        if (error.failureClass === 'chunk') return error;
        if (error.failureClass !== 'outage') throw error;
        this.#options.onTrouble(error);
        await pause(backoffMs(attempt, this.#options.backoff, Math.random()), signal);
      }
    }
  }
}

async function pause(ms: number, signal: AbortSignal): Promise<void> {
  await sleep(ms, undefined, { signal }).catch(() => {
    throw closed();
  });
}

function closed(): ServingError {
  return new ServingError('SCHEMA_REGISTRY_UNAVAILABLE', 'the schema store is closed');
}
