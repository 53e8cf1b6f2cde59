/**
 * One lock between processes, machines that share a disk included: a file that its holder touches while it lives.
 *
 * A holder that was killed on this machine is noticed at once, by its pid and when it began; one elsewhere when it has not
 * touched the file for a while, by the clock of the disk that holds it.
 */
import { randomBytes } from 'node:crypto';
import { link, open, readFile, rename, rm, stat, utimes } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { z } from 'zod';
import { ServingError } from '../errors.ts';
import { errnoOf } from './file-errors.ts';
import { identitySchema, ownIdentity, stateOf } from './process-identity.ts';

const TOUCH_EVERY_MS = 5_000;
const STALE_AFTER_MS = 60_000;
const LOOK_EVERY_MS = 500;

const lockSchema = z.object({ token: z.string(), holder: identitySchema });

export type LockOptions = {
  readonly waitMs: number;
  readonly onWait: () => void;
  /** What holds it: `another pull` unless given. */
  readonly holder?: string;
};

/** Throws REGISTRY_CONFLICT when it is not free in time. `work` gets a signal that aborts when the lock is lost. */
export async function withFolderLock<T>(
  path: string,
  { waitMs, onWait, holder = 'another pull' }: LockOptions,
  work: (signal: AbortSignal) => Promise<T>,
  signal: AbortSignal,
): Promise<T> {
  const token = randomBytes(12).toString('hex');
  const text = JSON.stringify({ token, holder: await ownIdentity() });
  const until = performance.now() + waitMs;
  for (let look = 0; !(await taken(path, text)); look++) {
    if (await brokeStale(path)) continue;
    if (performance.now() > until) {
      throw new ServingError(
        'REGISTRY_CONFLICT',
        waitMs === 0
          ? `${holder} holds ${path}; wait until it has ended`
          : `${holder} holds ${path} for too long; end it, or remove that file`,
      );
    }
    if (look === 0) onWait();
    await sleep(LOOK_EVERY_MS, undefined, { signal });
  }
  const lost = new AbortController();
  const touch = setInterval(() => void touched(path, token, lost), TOUCH_EVERY_MS);
  try {
    return await work(AbortSignal.any([signal, lost.signal]));
  } finally {
    clearInterval(touch);
    if ((await tokenIn(path)) === token) await rm(path, { force: true });
  }
}

async function taken(path: string, text: string): Promise<boolean> {
  try {
    const handle = await open(path, 'wx');
    try {
      await handle.writeFile(text);
    } finally {
      await handle.close();
    }
    return true;
  } catch (error) {
    if (errnoOf(error) === 'EEXIST') return false;
    throw error;
  }
}

async function touched(path: string, token: string, lost: AbortController): Promise<void> {
  const now = new Date();
  const kept =
    (await tokenIn(path)) === token &&
    (await utimes(path, now, now).then(
      () => true,
      () => false,
    ));
  if (!kept) lost.abort(new ServingError('REGISTRY_CONFLICT', `the lock ${path} was taken away; run it again`));
}

async function brokeStale(path: string): Promise<boolean> {
  const content = await readFile(path, 'utf8').catch(() => undefined);
  if (content === undefined || !(await isStale(path, content))) return content === undefined;
  // Whoever renames it away is the one that breaks it; if it was another's fresh lock by then, it goes back.
  const aside = `${path}.stale-${randomBytes(6).toString('hex')}`;
  try {
    await rename(path, aside);
    if ((await readFile(aside, 'utf8')) !== content) await link(aside, path).catch(() => {});
    await rm(aside, { force: true });
  } catch (error) {
    if (errnoOf(error) !== 'ENOENT') throw error;
  }
  return true;
}

async function isStale(path: string, content: string): Promise<boolean> {
  const lock = parsed(content);
  const state = lock === undefined ? 'unknown' : await stateOf(lock.holder);
  if (state !== 'unknown') return state === 'gone';
  const probe = `${path}.now-${randomBytes(6).toString('hex')}`;
  try {
    await (await open(probe, 'wx')).close();
    const [then, now] = await Promise.all([stat(path), stat(probe)]);
    return now.mtimeMs - then.mtimeMs > STALE_AFTER_MS;
  } catch (error) {
    if (errnoOf(error) === 'ENOENT') return false;
    throw error;
  } finally {
    await rm(probe, { force: true });
  }
}

async function tokenIn(path: string): Promise<string | undefined> {
  return parsed(await readFile(path, 'utf8').catch(() => ''))?.token;
}

function parsed(content: string): z.infer<typeof lockSchema> | undefined {
  try {
    return lockSchema.safeParse(JSON.parse(content)).data;
  } catch {
    return undefined;
  }
}
