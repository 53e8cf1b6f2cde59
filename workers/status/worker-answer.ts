/**
 * What a worker says of itself: /status of its ops server. Only the fields that are shown are read, and what another version
 * does not say is null, so that one command looks at workers old and new.
 */
import { z } from 'zod';
import { ServingError } from '../../src/errors.ts';

const countOrNull = z.number().nullish().catch(null);
const textOrNull = z.string().nullish().catch(null);

const answerSchema = z.object({
  worker: z.string(),
  program: textOrNull,
  version: textOrNull,
  phase: z.string(),
  ready: z.boolean(),
  checks: z.array(z.object({ name: z.string(), ok: z.boolean(), reason: textOrNull })).catch([]),
  modelServer: z
    .object({
      models: z.array(z.object({ name: z.string(), state: z.string(), fingerprint: textOrNull })).catch([]),
      breakers: z.array(z.object({ endpoint: z.string(), state: z.string() })).catch([]),
    })
    .catch({ models: [], breakers: [] }),
  ingest: z
    .object({
      chunksPerSecond: countOrNull,
      inFlight: z.object({ chunks: z.number() }).nullish().catch(null),
      paused: z.array(z.string()).catch([]),
      transport: textOrNull,
      slots: z.object({ free: z.number(), leased: z.number(), quarantined: z.number() }).nullish().catch(null),
      deadLetters: z.object({ total: z.number() }).nullish().catch(null),
    })
    .nullish()
    .catch(null),
});

export type WorkerState = z.infer<typeof answerSchema>;

/** A snapshot with three hours of history fits many times. */
const MOST_BYTES = 1_048_576;
const TIMEOUT_MS = 5_000;

/** Rejects with OPS_UNAVAILABLE or OPS_ACCESS_DENIED. The address of a failure's cause is never quoted. */
export async function askWorker(base: string, apiKey: string | undefined, signal: AbortSignal): Promise<WorkerState> {
  const timeout = AbortSignal.timeout(TIMEOUT_MS);
  const response = await answerOf(statusUrl(base), apiKey, AbortSignal.any([timeout, signal]), timeout);
  if (response.status === 401 || response.status === 403) {
    throw new ServingError(
      'OPS_ACCESS_DENIED',
      `the worker asks for its key (HTTP ${response.status}): set RAG_SERVING_API_KEY to the worker's`,
    );
  }
  if (response.status !== 200) throw unavailable(`the worker answers HTTP ${response.status} to /status`);
  const answer = answerSchema.safeParse(parsed(response.text));
  if (answer.success) return answer.data;
  throw unavailable('what answers there is no ops server of rag-serving');
}

type Answer = { readonly status: number; readonly text: string };

async function answerOf(
  url: string,
  apiKey: string | undefined,
  signal: AbortSignal,
  timeout: AbortSignal,
): Promise<Answer> {
  try {
    const headers = apiKey === undefined ? {} : { authorization: `Bearer ${apiKey}` };
    const response = await fetch(url, { signal, redirect: 'error', headers });
    const parts: Uint8Array[] = [];
    let size = 0;
    for await (const part of response.body ?? []) {
      size += part.byteLength;
      if (size > MOST_BYTES) throw unavailable(`the answer to /status is longer than ${MOST_BYTES} bytes`);
      parts.push(part);
    }
    return { status: response.status, text: Buffer.concat(parts).toString('utf8') };
  } catch (error) {
    if (error instanceof ServingError) throw error;
    throw unavailable(timeout.aborted ? `no answer within ${TIMEOUT_MS} ms` : `no answer (${codeOf(error)})`);
  }
}

function statusUrl(base: string): string {
  const url = new URL(base);
  url.pathname = `${url.pathname.replace(/\/+$/, '')}/status`;
  return url.href;
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function unavailable(message: string): ServingError {
  return new ServingError('OPS_UNAVAILABLE', message);
}

function codeOf(error: unknown): string {
  const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error;
  const code = (cause as { code?: unknown } | null)?.code;
  return typeof code === 'string' ? code : 'connection failed';
}
