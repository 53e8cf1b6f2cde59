/**
 * One bounded HTTP exchange with a metadata server. Not `fetch`: newer Node can be told by the environment to send every
 * fetch through a proxy, and what a proxy says about its own machine must never stop this one. An agent of our own is
 * never proxied, follows no redirect, and keeps no connection open.
 */
import { Agent as HttpAgent, type IncomingMessage, request as requestHttp } from 'node:http';
import { Agent as HttpsAgent, request as requestHttps } from 'node:https';
import { ServingError } from '../errors.ts';

export type MetadataRequest = {
  readonly method?: 'GET' | 'PUT' | 'POST';
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
  readonly timeoutMs: number;
};

export type MetadataAnswer = {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>;
  readonly body: string;
  /** The server's own clock, if it told: a deadline of its is to be compared with that, not with ours. */
  readonly serverNowMs: number | undefined;
};

/** Metadata are short; whoever answers with more is no metadata server. */
const MOST_BYTES = 65_536;

/** Rejects with a ServingError when there is no answer in time, or with the signal's reason. */
export async function askMetadata(
  url: URL,
  { method = 'GET', headers = {}, body = '', timeoutMs }: MetadataRequest,
  signal: AbortSignal,
): Promise<MetadataAnswer> {
  signal.throwIfAborted();
  const secure = url.protocol === 'https:';
  const agent = secure ? new HttpsAgent({ keepAlive: false }) : new HttpAgent({ keepAlive: false });
  // By hand: what AbortSignal.any leaves at a signal that outlives thousands of questions is never taken away.
  const limit = new AbortController();
  const onAbort = () => limit.abort(signal.reason);
  signal.addEventListener('abort', onAbort, { once: true });
  const timer = setTimeout(() => limit.abort(), timeoutMs);
  try {
    return await new Promise<MetadataAnswer>((resolve, reject) => {
      const options = {
        method,
        agent,
        signal: limit.signal,
        headers: { 'content-length': Buffer.byteLength(body), ...headers },
      };
      const onResponse = (response: IncomingMessage) => {
        collect(response).then((text) => resolve(answerOf(response, text)), reject);
      };
      (secure ? requestHttps : requestHttp)(url, options, onResponse).on('error', reject).end(body);
    });
  } catch (cause) {
    signal.throwIfAborted();
    const what = limit.signal.aborted ? `no answer within ${timeoutMs} ms` : 'no usable answer';
    throw new ServingError('SPOT_METADATA_UNAVAILABLE', `${what} from ${url.host}`, { cause });
  } finally {
    clearTimeout(timer);
    signal.removeEventListener('abort', onAbort);
    agent.destroy();
  }
}

async function collect(response: IncomingMessage): Promise<string> {
  const parts: Buffer[] = [];
  let bytes = 0;
  for await (const part of response as AsyncIterable<Buffer>) {
    bytes += part.length;
    if (bytes > MOST_BYTES) throw new Error(`the answer is longer than ${MOST_BYTES} bytes`);
    parts.push(part);
  }
  return Buffer.concat(parts).toString('utf8');
}

function answerOf(response: IncomingMessage, body: string): MetadataAnswer {
  // Whole seconds, cut off: it may be a second later than they say, and never earlier.
  const date = Date.parse(response.headers.date ?? '') + 1_000;
  return {
    status: response.statusCode ?? 0,
    headers: response.headers,
    body,
    serverNowMs: Number.isNaN(date) ? undefined : date,
  };
}

/** For an answer that is none of those expected. The body may be anything, so it is not shown. */
export function unexpectedStatus(url: URL, status: number, hint = ''): ServingError {
  return new ServingError('SPOT_METADATA_UNAVAILABLE', `${url.host}${url.pathname} answered ${status}${hint}`);
}
