/** The online module: which models a search asks, how long a call may take, and how much is under way at once. */
import type { EnvReader } from '../env-reader.ts';
import { boolean, choice, integer, text } from '../leaf-types.ts';
import { always } from '../setting.ts';
import { type InferenceTls, inferenceSettings, readInferenceTls } from './inference.ts';

const modelName = {
  test: /^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$/,
  says: '1–128 letters, digits, dots, hyphens or underscores',
};
const deadline = { min: 1, max: 600_000 };
const inFlight = { min: 1, max: 100_000 };

export const onlineSettings = {
  embedModel: text(
    'RAG_SERVING_ONLINE_EMBED_MODEL',
    always('online_embedder_ensemble'),
    { doc: 'Model (ensemble) that embeds queries.' },
    modelName,
  ),
  rerankModel: text(
    'RAG_SERVING_ONLINE_RERANK_MODEL',
    always('online_reranker_ensemble'),
    { doc: 'Model (ensemble) that reranks candidates; `off` leaves them in the order in which they came.' },
    modelName,
  ),
  embedTimeoutMs: integer('RAG_SERVING_ONLINE_EMBED_TIMEOUT_MS', always(15), deadline, {
    doc: 'Deadline of embedding a query, in milliseconds.',
  }),
  rerankTimeoutMs: integer('RAG_SERVING_ONLINE_RERANK_TIMEOUT_MS', always(35), deadline, {
    doc: 'Deadline of reranking, in milliseconds; then the candidates come back in the order in which they came.',
  }),
  searchTimeoutMs: integer('RAG_SERVING_ONLINE_SEARCH_TIMEOUT_MS', always(40), deadline, {
    doc: 'Budget of a whole search (embed, retrieve, rerank), in milliseconds.',
  }),
  embedMaxInFlight: integer('RAG_SERVING_ONLINE_EMBED_MAX_IN_FLIGHT', always(128), inFlight, {
    doc: 'Embedding requests of one client that are under way at once; more fail at once with OVERLOADED.',
  }),
  rerankMaxInFlight: integer('RAG_SERVING_ONLINE_RERANK_MAX_IN_FLIGHT', always(64), inFlight, {
    doc: 'Rerank requests of one client that are under way at once; more come back in the order in which they came.',
  }),
  embedCoalesce: boolean('RAG_SERVING_ONLINE_EMBED_COALESCE', true, {
    doc: 'Queries that come within one turn of the event loop travel as one request, up to 32.',
  }),
  connections: integer(
    'RAG_SERVING_ONLINE_CONNECTIONS',
    always(2),
    { min: 1, max: 64 },
    {
      doc: 'HTTP/2 connections to each endpoint of an online pool, and streams where these are used.',
    },
  ),
  transport: choice('RAG_SERVING_ONLINE_TRANSPORT', ['stream', 'unary'] as const, always('stream' as const), {
    doc: 'Queries travel on long-lived streams (where the server has none: call by call), or always call by call.',
  }),
} as const;

export type OnlinePoolConfig = {
  readonly endpoints: readonly string[];
  readonly model: string;
  readonly timeoutMs: number;
  readonly maxInFlight: number;
  readonly connections: number;
  readonly transport: 'stream' | 'unary';
};

export type OnlineConfig = {
  readonly embed: OnlinePoolConfig & { readonly coalesce: boolean };
  /** Undefined: off. */
  readonly rerank: OnlinePoolConfig | undefined;
  readonly searchTimeoutMs: number;
  readonly tls: InferenceTls | undefined;
};

export function readOnline(read: EnvReader): OnlineConfig {
  const value = read.section(onlineSettings);
  const { connections, transport } = value;
  const tls = readInferenceTls(read);
  return {
    embed: {
      endpoints: read.read(inferenceSettings.onlineEmbedGrpcUrl),
      model: value.embedModel,
      timeoutMs: value.embedTimeoutMs,
      maxInFlight: value.embedMaxInFlight,
      connections,
      transport,
      coalesce: value.embedCoalesce,
    },
    rerank:
      value.rerankModel === 'off'
        ? undefined
        : {
            endpoints: read.read(inferenceSettings.onlineRerankGrpcUrl),
            model: value.rerankModel,
            timeoutMs: value.rerankTimeoutMs,
            maxInFlight: value.rerankMaxInFlight,
            connections,
            transport,
          },
    searchTimeoutMs: value.searchTimeoutMs,
    tls,
  };
}
