/** The Redis of retries: it keeps what it is given, and its clock is ours. */
import type { RetryAdmin } from '../../../src/retry/retry-admin.ts';
import type { ServerSetup } from '../../../src/retry/server-checks.ts';
import { fail, type Outcome, ok, skipped, warn } from '../check.ts';
import type { Parts } from '../parts.ts';

/** Delays are counted from the clock of whoever hands over to that of whoever runs. */
const NOTICED_MS = 2_000;
const HARMFUL_MS = 60_000;

export function setupVerdict({ maxmemoryPolicy, appendonly, save }: ServerSetup): Outcome {
  if (maxmemoryPolicy === undefined) {
    return warn('it answers, and does not tell its settings', 'see yourself that its maxmemory-policy is noeviction');
  }
  if (maxmemoryPolicy !== 'noeviction') {
    return fail(
      `it may evict chunks that wait: maxmemory-policy is ${maxmemoryPolicy}`,
      'set maxmemory-policy noeviction, or give retries a Redis of their own (RAG_SERVING_RETRY_REDIS_URL)',
    );
  }
  if (appendonly === 'no' && save === '') {
    return warn('it forgets chunks that wait when it restarts', 'set appendonly yes, or at least save points');
  }
  return ok(`it answers, evicts nothing and ${appendonly === 'yes' ? 'logs every write' : 'saves snapshots'}`);
}

export async function lookAtRetries({ retries, found }: Parts, signal: AbortSignal): Promise<Outcome> {
  if (retries === undefined) return skipped('no durable queue by these settings');
  const { setup, atMs, askedMs } = await timed(retries, signal);
  if (atMs !== undefined) found.clock = { oursMs: askedMs, theirsMs: atMs };
  return setupVerdict(setup);
}

/** Asked a second time for the clock alone: the first answer may have waited for the connection. */
async function timed(retries: RetryAdmin, signal: AbortSignal) {
  await retries.counts(signal);
  const before = Date.now();
  const server = await retries.server(signal);
  return { ...server, askedMs: (before + Date.now()) / 2 };
}

export function clockVerdict(clock: { readonly oursMs: number; readonly theirsMs: number } | undefined): Outcome {
  if (clock === undefined) return skipped('nothing here tells the time: there is no Redis, or it may not be asked');
  const skewMs = Math.round(clock.oursMs - clock.theirsMs);
  const found = `this machine is ${Math.abs(skewMs)} ms ${skewMs < 0 ? 'behind' : 'ahead of'} Redis`;
  const remedy = 'set the clocks by NTP: delays of retries and ages of deletions are taken from them';
  if (Math.abs(skewMs) > HARMFUL_MS) return fail(found, remedy);
  return Math.abs(skewMs) > NOTICED_MS ? warn(found, remedy) : ok(found);
}
