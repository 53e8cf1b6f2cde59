/** The schema registry as programs use it: made from the settings, its subject checked before the first message. */
import { setTimeout as sleep } from 'node:timers/promises';
import { systemClock } from '../src/clock.ts';
import { loadTlsMaterial } from '../src/config/file-types.ts';
import type { SchemasConfig } from '../src/config/sections/schemas.ts';
import { asServingError } from '../src/errors.ts';
import { RegistryClient } from '../src/schemas/registry-client.ts';
import { SchemaStore } from '../src/schemas/schema-store.ts';
import { SchemaValueReader } from '../src/schemas/schema-value-reader.ts';
import { checkSubject } from '../src/schemas/subject-check.ts';
import type { Log } from '../src/telemetry/log.ts';

export type SchemaValues = { readonly values: SchemaValueReader; close(): void };

type Health = { pass(): void; fail(reason: string): void };
type Configured = NonNullable<SchemasConfig>;

const CONFIRM_MS = 1_000;
const UNUSABLE_TTL_MS = 60_000;
const BACKOFF = { baseMs: 200, maxMs: 5_000 };
const WAIT_MS = 1_000;
const LOG_EVERY = 10;

export function registryClient({ urls, basic, bearerToken, tls, timeoutMs }: Configured): RegistryClient {
  const pair = basic && Buffer.from(`${basic.username}:${basic.password.reveal()}`, 'utf8').toString('base64');
  const bearer = bearerToken && `Bearer ${bearerToken.reveal()}`;
  return new RegistryClient({
    urls,
    authorization: pair === undefined ? bearer : `Basic ${pair}`,
    tls: loadTlsMaterial(tls),
    timeoutMs,
  });
}

/** Undefined where values are plain JSON. Waits for a registry that is away; rejects when no waiting helps. */
export async function openSchemaValues(
  config: SchemasConfig,
  health: Health,
  log: Log,
  signal: AbortSignal,
): Promise<SchemaValues | undefined> {
  if (config === undefined) return undefined;
  const client = registryClient(config);
  const troubles = new Troubles(health, log);
  try {
    await checked(config, client, troubles, signal);
  } catch (error) {
    client.close();
    throw error;
  }
  const store = new SchemaStore({
    client,
    clock: systemClock,
    maxSchemas: config.cacheSize,
    unusableTtlMs: UNUSABLE_TTL_MS,
    confirmMs: CONFIRM_MS,
    backoff: BACKOFF,
    onTrouble: (error) => troubles.note(error.message),
    onWell: () => troubles.over(),
  });
  const close = () => {
    store.close();
    client.close();
  };
  signal.addEventListener('abort', close, { once: true });
  return { values: new SchemaValueReader(config.format, store), close };
}

async function checked(
  { subject, format }: Configured,
  client: RegistryClient,
  troubles: Troubles,
  signal: AbortSignal,
): Promise<void> {
  for (;;) {
    signal.throwIfAborted();
    try {
      if (subject !== undefined) checkSubject(subject, await client.latest(subject, signal), format);
      troubles.over();
      return;
    } catch (thrown) {
      signal.throwIfAborted();
      const error = asServingError(thrown);
      if (error.failureClass !== 'outage') throw error;
      troubles.note(error.message);
    }
    await sleep(WAIT_MS, undefined, { signal });
  }
}

/** One line when it begins, one in a while, one when it is over. */
class Troubles {
  readonly #health: Health;
  readonly #log: Log;
  #attempts = 0;

  constructor(health: Health, log: Log) {
    this.#health = health;
    this.#log = log;
  }

  note(reason: string): void {
    if (this.#attempts++ % LOG_EVERY === 0) this.#log.warn('waiting for the schema registry', { reason });
    this.#health.fail(reason);
  }

  over(): void {
    if (this.#attempts > 0) this.#log.info('the schema registry answers');
    this.#attempts = 0;
    this.#health.pass();
  }
}
