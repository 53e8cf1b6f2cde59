/** Which hub is asked, with whose token, and what the person at the terminal sees of it. */
import { stat } from 'node:fs/promises';
import { ServingError } from '../../../src/errors.ts';
import { downloadProgress } from '../progress.ts';
import type { HubOptions } from './connection.ts';
import type { OnFileBytes } from './fetch-files.ts';
import { DEFAULT_RETRY, type RetryPolicy } from './retry.ts';

export type Surroundings = {
  /** HF_TOKEN and HF_ENDPOINT are read. */
  readonly env: NodeJS.ProcessEnv;
  readonly cacheDir: string;
  readonly stderr: NodeJS.WriteStream;
  readonly retry?: RetryPolicy;
};

const HUB = 'https://huggingface.co';

/** What looks like a path is one, so that a mistyped folder is not looked for on the hub. */
export async function isPath(model: string): Promise<boolean> {
  if (/^[./~]/.test(model)) return true;
  return (await stat(model).catch(() => undefined)) !== undefined;
}

/** Runs `fetch` with progress shown, and says which commit was taken where the revision is not one. */
export async function fromHub<T extends { readonly commit: string }>(
  { env, stderr, retry }: Surroundings,
  { id, revision }: { readonly id: string; readonly revision: string },
  fetch: (hub: HubOptions, onBytes: OnFileBytes) => Promise<T>,
): Promise<T> {
  const say = (line: string) => void stderr.write(`${line}\n`);
  const progress = downloadProgress(stderr);
  try {
    const hub = { endpoint: endpointOf(env), token: env.HF_TOKEN || undefined, onProgress: say };
    const fetched = await fetch({ ...hub, retry: retry ?? DEFAULT_RETRY }, progress.update);
    const { commit } = fetched;
    if (revision !== commit) say(`${id} ${revision} is ${commit}: --revision ${commit} pins it`);
    return fetched;
  } finally {
    progress.stop();
  }
}

function endpointOf({ HF_ENDPOINT }: NodeJS.ProcessEnv): string {
  const text = HF_ENDPOINT || HUB;
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url !== undefined && /^https?:$/.test(url.protocol) && url.username === '' && url.password === '') {
    return text.replace(/\/+$/, '');
  }
  throw new ServingError(
    'CONFIG_INVALID',
    'HF_ENDPOINT is no http or https address without credentials (a token goes into HF_TOKEN)',
  );
}
