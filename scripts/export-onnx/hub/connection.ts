/**
 * Requests to a model hub: with the token, bounded in silence, repeated as far as that can help.
 *
 * fetch follows the hub's redirects to where its large files are, and leaves the token behind when that is another host.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { ServingError } from '../../../src/errors.ts';
import { type Answer, delayMs, type RetryPolicy, refusal } from './retry.ts';

export type HubOptions = {
  /** Base address, without a slash at its end. */
  readonly endpoint: string;
  readonly token?: string | undefined;
  readonly retry: RetryPolicy;
  readonly onProgress?: (line: string) => void;
};

/** Says that something arrived, which ends the silence; if it brought the file nearer, failures are counted anew. */
export type Alive = (nearer: boolean) => void;

/** An answer that came, and is not what was asked for. */
class HubAnswer extends Error {
  readonly answer: Answer;

  constructor(answer: Answer) {
    super(`status ${answer.status}`);
    this.answer = answer;
  }
}

/**
 * Calls `attempt` until it succeeds. `what` names the thing in messages. Throws DEPENDENCY_MISSING with the remedy; an
 * attempt that throws a ServingError is not repeated.
 */
export async function withRetries<T>(
  hub: HubOptions,
  what: string,
  attempt: (alive: Alive, signal: AbortSignal) => Promise<T>,
  signal: AbortSignal,
): Promise<T> {
  for (let failures = 1; ; failures++) {
    const silence = new AbortController();
    const timer = setTimeout(() => silence.abort(new Error('the connection was silent')), hub.retry.stallMs);
    const alive = (nearer: boolean) => {
      timer.refresh();
      if (nearer) failures = 0;
    };
    try {
      return await attempt(alive, AbortSignal.any([signal, silence.signal]));
    } catch (cause) {
      signal.throwIfAborted();
      if (cause instanceof ServingError) throw cause;
      const answer = cause instanceof HubAnswer ? cause.answer : undefined;
      const refused = answer && refusal(answer, what, hub.token !== undefined);
      if (refused !== undefined) throw refused;
      failures = Math.max(failures, 1);
      const why = answer === undefined ? 'the connection failed' : `the hub answered ${answer.status}`;
      if (failures >= hub.retry.attempts) {
        throw new ServingError(
          'DEPENDENCY_MISSING',
          `${what}: ${why} ${failures} times in a row; what has arrived is kept: run it again later, or check HF_ENDPOINT and the proxy`,
          { cause },
        );
      }
      const waitMs = delayMs(hub.retry, failures, answer, Math.random());
      hub.onProgress?.(`${what}: ${why}; again in ${(waitMs / 1000).toFixed(1)} s`);
      clearTimeout(timer);
      await sleep(waitMs, undefined, { signal });
    } finally {
      clearTimeout(timer);
    }
  }
}

/** The answer to a GET, whatever its status is among those that carry content or say "not that range". */
export async function get(
  hub: HubOptions,
  path: string,
  headers: Readonly<Record<string, string>>,
  signal: AbortSignal,
): Promise<Response> {
  const authorization: Record<string, string> = hub.token === undefined ? {} : { authorization: `Bearer ${hub.token}` };
  const response = await fetch(`${hub.endpoint}${path}`, {
    // An encoded body has another length than the file, and could not be gone on with.
    headers: { 'user-agent': 'rag-inference-serving', 'accept-encoding': 'identity', ...authorization, ...headers },
    signal,
  });
  if (response.ok || response.status === 416) return response;
  await response.body?.cancel();
  throw new HubAnswer({
    status: response.status,
    errorCode: response.headers.get('x-error-code') ?? undefined,
    retryAfter: response.headers.get('retry-after') ?? undefined,
  });
}
