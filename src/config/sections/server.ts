/** Who this process is and where its operators reach it. */
import type { EnvReader } from '../env-reader.ts';
import { choice, headerSafe, integer, secret, text } from '../leaf-types.ts';
import type { Secret } from '../secret.ts';
import { always, type LogLevel, logLevels, poolTypes, unset, type ValuesOf } from '../setting.ts';

export const serverSettings = {
  poolType: choice('RAG_SERVING_POOL_TYPE', poolTypes, always('online_embedding'), {
    doc: 'Which of the three pools this process belongs to; several defaults follow from it. `rag-serving worker` serves batch_ingestion, takes it when this is unset and refuses another.',
  }),
  workerId: text(
    'RAG_SERVING_WORKER_ID',
    unset,
    {
      doc: 'Name of this worker in logs, dead letters and names of shared-memory files. A restarted worker with the same name cleans up what its dead predecessor left, so keep it stable for a pod and unique in a node.',
      defaultNote: 'the host name',
    },
    { test: /^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$/, says: '1–63 letters, digits, dots, hyphens or underscores' },
  ),
  host: text(
    'RAG_SERVING_SERVER_HOST',
    always('0.0.0.0'),
    {
      doc: 'Address of the ops server (/healthz, /ready, /metrics, /status, /docs). 0.0.0.0 and :: both mean every interface, IPv4 and IPv6 where the machine has it.',
    },
    { test: /^[A-Za-z0-9_.:%-]{1,253}$/, says: 'a host name or an IP address without brackets' },
  ),
  port: integer(
    'RAG_SERVING_SERVER_PORT',
    always(8080),
    { min: 0, max: 65_535 },
    {
      doc: 'Port of the ops server; 0 takes any free one.',
    },
  ),
  apiKey: secret(
    'RAG_SERVING_API_KEY',
    {
      doc: 'When set, /metrics and /status ask for it as `Authorization: Bearer …` or `X-API-Key: …`. Health routes and the documentation stay open. Unset leaves everything open; empty is an error, for a key that got lost must not open what it protects.',
      emptyProblem: 'is empty: set the key, or unset the variable to leave /metrics and /status open',
    },
    headerSafe,
  ),
  logLevel: choice('RAG_SERVING_LOG_LEVEL', logLevels, always('INFO'), {
    doc: 'Least severe line that is logged. DEBUG also prints stack traces of command errors, and sums up no repeats. SIGUSR2 switches a running program to DEBUG and back.',
  }),
} as const;

export type ServerConfig = {
  readonly host: string;
  readonly port: number;
  readonly apiKey: Secret | undefined;
};

export type IdentityConfig = {
  readonly workerId: string;
  readonly logLevel: LogLevel;
};

export function readServer(read: EnvReader, hostName: string): { server: ServerConfig; identity: IdentityConfig } {
  const { host, port, apiKey, workerId, logLevel }: ValuesOf<typeof serverSettings> = read.section(serverSettings);
  return {
    server: { host, port, apiKey },
    identity: { workerId: workerId ?? workerIdFrom(hostName), logLevel },
  };
}

/** A host name as a worker id: it becomes part of file names, so odd characters turn into hyphens. */
export function workerIdFrom(hostName: string): string {
  const tame = hostName
    .replace(/[^A-Za-z0-9._-]+/g, '-')
    .replace(/^[^A-Za-z0-9]+/, '')
    .slice(0, 63);
  return tame === '' ? 'worker' : tame;
}
