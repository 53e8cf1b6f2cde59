/** What a client is made of: from options in code, or from environment variables. Every problem is told at once. */

import { tlsProblems } from '../src/config/file-types.ts';
import { type Machine, thisMachine } from '../src/config/program-reader.ts';
import { readOnlineConfig } from '../src/config/programs.ts';
import type { OnlineConfig, OnlinePoolConfig } from '../src/config/sections/online.ts';
import { asServingError, ServingError } from '../src/errors.ts';
import { parseTarget } from '../src/inference/target.ts';

export type PoolOptions = {
  /** `host:port`, `dns:///name:port`, `unix:/path`, several of them, or a comma list; localhost:8001 unless given. */
  readonly endpoints?: string | readonly string[];
  readonly model?: string;
  /** Default deadline of a call: 15 ms to embed, 35 ms to rerank. */
  readonly timeoutMs?: number;
  /** Requests under way at once; more fail at once. 128 to embed, 64 to rerank. */
  readonly maxInFlight?: number;
  /** HTTP/2 connections to each endpoint; 2. */
  readonly connections?: number;
  /** `stream` unless given. */
  readonly transport?: 'stream' | 'unary';
  /** With less time left the model is not asked; 5 ms. */
  readonly leastMs?: number;
  /** Longer texts are cut; 65,536. */
  readonly maxTextBytes?: number;
};

export type TlsOptions = {
  readonly caPath?: string;
  readonly certPath?: string;
  readonly keyPath?: string;
  /** Name in the server's certificate, where it is not the host. */
  readonly serverNameOverride?: string;
};

export type EmbedOptions = PoolOptions & {
  /** Queries that come within one turn of the event loop travel as one request; true. */
  readonly coalesce?: boolean;
};

export type OnlineOptions = {
  readonly embed?: EmbedOptions;
  /** False: candidates always come back in the incoming order. */
  readonly rerank?: PoolOptions | false;
  /** Budget of a search; 40 ms. */
  readonly searchTimeoutMs?: number;
  /** How long `createOnline` waits for the models; then warming up goes on behind the scenes. 5,000 ms. */
  readonly warmUpTimeoutMs?: number;
  /** Plain text without it. */
  readonly tls?: TlsOptions;
  /** Sent with every call, for example an API key. */
  readonly metadata?: Readonly<Record<string, string>>;
};

/** Environment variables by name. */
export type OnlineEnv = Readonly<Record<string, string | undefined>>;

export type PoolSettings = OnlinePoolConfig & { readonly leastMs: number; readonly maxTextBytes: number };

export type OnlineSettings = Omit<OnlineConfig, 'embed' | 'rerank'> & {
  readonly embed: PoolSettings & { readonly coalesce: boolean };
  readonly rerank: PoolSettings | undefined;
  readonly warmUpTimeoutMs: number;
  readonly metadata: Readonly<Record<string, string>>;
};

const OPTION_NAMES = ['embed', 'rerank', 'searchTimeoutMs', 'warmUpTimeoutMs', 'tls', 'metadata'];
const POOL_OPTION_NAMES = [
  'endpoints',
  'model',
  'timeoutMs',
  'maxInFlight',
  'connections',
  'transport',
  'leastMs',
  'maxTextBytes',
];
const LEAST_MS = 5;
const MAX_TEXT_BYTES = 65_536;
const WARM_UP_TIMEOUT_MS = 5_000;

/** Throws CONFIG_INVALID that lists every problem. */
export function readSettings(given: OnlineOptions | OnlineEnv, machine: Machine = thisMachine()): OnlineSettings {
  const options = isEnv(given) ? optionsOf(readOnlineConfig(given, machine)) : given;
  return settle(options, readOnlineConfig({}, machine), machine);
}

/** Options have names of ours only; an environment has nothing but texts. */
function isEnv(given: OnlineOptions | OnlineEnv): given is OnlineEnv {
  const names = Object.keys(given);
  if (names.every((name) => OPTION_NAMES.includes(name))) return false;
  if (Object.values(given).every((value) => value === undefined || typeof value === 'string')) return true;
  const unknown = names.filter((name) => !OPTION_NAMES.includes(name));
  throw new ServingError(
    'CONFIG_INVALID',
    `unknown option ${unknown.join(', ')}; there are ${OPTION_NAMES.join(', ')}`,
  );
}

function optionsOf({ embed, rerank, searchTimeoutMs, tls }: OnlineConfig): OnlineOptions {
  return { embed, rerank: rerank ?? false, searchTimeoutMs, ...(tls === undefined ? {} : { tls: withoutUnset(tls) }) };
}

function settle(options: OnlineOptions, defaults: OnlineConfig, machine: Machine): OnlineSettings {
  const problems: string[] = [];
  const number = (name: string, value: number, least: number, whole = true) => {
    const fits = Number.isFinite(value) && value >= least && value <= 1e9 && (!whole || Number.isInteger(value));
    if (!fits) problems.push(`${name} must be a ${whole ? 'whole ' : ''}number ≥ ${least}, not ${String(value)}`);
    return value;
  };
  const poolOf = (name: 'embed' | 'rerank', given: PoolOptions): PoolSettings => {
    const names = name === 'embed' ? [...POOL_OPTION_NAMES, 'coalesce'] : POOL_OPTION_NAMES;
    for (const option of Object.keys(given).filter((key) => !names.includes(key))) {
      problems.push(`${name}.${option} is no option; there are ${names.join(', ')}`);
    }
    const all = { leastMs: LEAST_MS, maxTextBytes: MAX_TEXT_BYTES, ...defaults[name]!, ...withoutUnset(given) };
    const endpoints = typeof all.endpoints === 'string' ? all.endpoints.split(',') : all.endpoints;
    try {
      parseTarget(endpoints.join(','), `${name}.endpoints`);
    } catch (error) {
      problems.push(asServingError(error).message);
    }
    if (all.transport !== 'stream' && all.transport !== 'unary') problems.push(`${name}.transport is stream or unary`);
    if (typeof all.model !== 'string' || all.model === '') problems.push(`${name}.model must be the name of a model`);
    return {
      endpoints,
      model: all.model,
      timeoutMs: number(`${name}.timeoutMs`, all.timeoutMs, 1, false),
      maxInFlight: number(`${name}.maxInFlight`, all.maxInFlight, 1),
      connections: number(`${name}.connections`, all.connections, 1),
      transport: all.transport,
      leastMs: number(`${name}.leastMs`, all.leastMs, 0, false),
      maxTextBytes: number(`${name}.maxTextBytes`, all.maxTextBytes, 4),
    };
  };
  const { caPath, certPath, keyPath, serverNameOverride } = options.tls ?? {};
  const tls = options.tls === undefined ? undefined : { caPath, certPath, keyPath, serverNameOverride };
  if (tls !== undefined) {
    for (const { part, says } of tlsProblems(tls, machine.nowMs, machine.readFile))
      problems.push(`tls.${part} ${says}`);
    if ((certPath === undefined) !== (keyPath === undefined))
      problems.push('tls.certPath and tls.keyPath: set both or none');
  }
  const coalesce = options.embed?.coalesce ?? defaults.embed.coalesce;
  if (typeof coalesce !== 'boolean') problems.push('embed.coalesce must be true or false');
  const settings = {
    embed: { ...poolOf('embed', options.embed ?? {}), coalesce },
    rerank: options.rerank === false ? undefined : poolOf('rerank', options.rerank ?? {}),
    searchTimeoutMs: number('searchTimeoutMs', options.searchTimeoutMs ?? defaults.searchTimeoutMs, 1, false),
    warmUpTimeoutMs: number('warmUpTimeoutMs', options.warmUpTimeoutMs ?? WARM_UP_TIMEOUT_MS, 0, false),
    tls,
    metadata: options.metadata ?? {},
  };
  if (problems.length === 0) return settings;
  throw new ServingError(
    'CONFIG_INVALID',
    `the options are wrong:\n${problems.map((line) => `- ${line}`).join('\n')}`,
    {
      details: { problems },
    },
  );
}

function withoutUnset<T extends object>(options: T): { [K in keyof T]: Exclude<T[K], undefined> } {
  return Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined)) as never;
}
