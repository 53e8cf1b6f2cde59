/** The operator's own hook: a file that appears, or a URL that answers 200. Anything else that may be there is no notice. */
import { constants } from 'node:fs';
import { open } from 'node:fs/promises';
import type { Clock } from '../clock.ts';
import { ServingError } from '../errors.ts';
import { readHook } from '../lifecycle/spot-hook.ts';
import { nothing } from '../lifecycle/spot-notice.ts';
import type { Lookout } from './lookout.ts';
import { askMetadata, unexpectedStatus } from './metadata-request.ts';

const { O_RDONLY, O_NONBLOCK } = constants;
const TIMEOUT_MS = 2_000;
/** A hook holds one short JSON object. */
const MOST_BYTES = 4_096;
const NOT_THERE = new Set(['ENOENT', 'ENOTDIR']);
const NO_NOTICE = new Set([204, 404, 410]);

/** Looked at, not watched: a mounted ConfigMap or network folder does not tell of changes. */
export function fileLookouts(path: string, clock: Clock): readonly Lookout[] {
  const look = async () => {
    const body = await readBeginning(path);
    return body === undefined ? [nothing] : readHook(body, clock.wallMs());
  };
  return [{ name: 'file', look }];
}

/** Undefined when there is no such file. */
async function readBeginning(path: string): Promise<string | undefined> {
  try {
    // Without O_NONBLOCK a named pipe would keep a thread waiting for its writer.
    const file = await open(path, O_RDONLY | O_NONBLOCK);
    try {
      const { buffer, bytesRead } = await file.read(Buffer.alloc(MOST_BYTES), 0, MOST_BYTES, 0);
      return buffer.toString('utf8', 0, bytesRead);
    } finally {
      await file.close();
    }
  } catch (cause) {
    const code = cause instanceof Error && 'code' in cause ? String(cause.code) : 'unreadable';
    if (NOT_THERE.has(code)) return undefined;
    throw new ServingError('SPOT_METADATA_UNAVAILABLE', `the hook file cannot be read (${code})`, { cause });
  }
}

export function urlLookouts(url: URL, clock: Clock): readonly Lookout[] {
  const look: Lookout['look'] = async (signal) => {
    const { status, body, serverNowMs } = await askMetadata(url, { timeoutMs: TIMEOUT_MS }, signal);
    if (NO_NOTICE.has(status)) return [nothing];
    if (status !== 200) throw unexpectedStatus(url, status);
    return readHook(body, serverNowMs ?? clock.wallMs());
  };
  return [{ name: 'url', look }];
}
