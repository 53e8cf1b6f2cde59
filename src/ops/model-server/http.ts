/**
 * Questions to Triton over HTTP: each ends in time, takes no more than so many bytes, and follows nobody elsewhere. An
 * address of the failure's cause is never quoted: it may hold credentials.
 */
export type HttpAnswer =
  | { readonly kind: 'answer'; readonly status: number; readonly text: string }
  | { readonly kind: 'none'; readonly reason: string };

/** Triton's metrics of a hundred models fit many times. */
const MOST_BYTES = 4 * 1_048_576;

export async function ask(url: string, timeoutMs: number): Promise<HttpAnswer> {
  const timeout = AbortSignal.timeout(timeoutMs);
  try {
    const response = await fetch(url, { signal: timeout, redirect: 'error', headers: { accept: '*/*' } });
    const text = await readText(response);
    return text === undefined
      ? { kind: 'none', reason: `the answer is longer than ${MOST_BYTES} bytes` }
      : { kind: 'answer', status: response.status, text };
  } catch (error) {
    return {
      kind: 'none',
      reason: timeout.aborted ? `no answer within ${timeoutMs} ms` : `no answer (${codeOf(error)})`,
    };
  }
}

/** `path` below the address that is set, which may have a path of its own. */
export function below(base: string, path: string): string {
  const url = new URL(base);
  url.pathname = `${url.pathname.replace(/\/+$/, '')}${path}`;
  return url.href;
}

async function readText(response: Response): Promise<string | undefined> {
  const parts: Uint8Array[] = [];
  let size = 0;
  for await (const part of response.body ?? []) {
    size += part.byteLength;
    // Leaving the loop cancels the rest of the body.
    if (size > MOST_BYTES) return undefined;
    parts.push(part);
  }
  return Buffer.concat(parts).toString('utf8');
}

function codeOf(error: unknown): string {
  const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error;
  const code = (cause as { code?: unknown } | null)?.code;
  return typeof code === 'string' ? code : 'connection failed';
}
