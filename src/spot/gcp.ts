/**
 * GCP: the server holds a question until the value changes. The first question does not wait and gives the value's etag;
 * the next ones name it, so that a change between two questions is not missed. The maintenance warning is given only to
 * machines that have asked for it at least once.
 */
import { readGcpMaintenance, readGcpPreempted } from '../lifecycle/spot-gcp.ts';
import { type SpotReading, unknown } from '../lifecycle/spot-notice.ts';
import type { Lookout } from './lookout.ts';
import { askMetadata, unexpectedStatus } from './metadata-request.ts';

const FIRST_TIMEOUT_MS = 2_000;
const HOLD_SECONDS = 60;
/** Longer than the server holds a question. */
const HELD_TIMEOUT_MS = 70_000;

export function gcpLookouts(base: URL): readonly Lookout[] {
  return [lookoutAt(base, 'preempted', readGcpPreempted), lookoutAt(base, 'maintenance-event', readGcpMaintenance)];
}

function lookoutAt(base: URL, path: string, read: (body: string) => SpotReading): Lookout {
  let etag: string | undefined;
  return {
    name: path,
    look: async (signal) => {
      const url = new URL(`computeMetadata/v1/instance/${path}`, base);
      if (etag !== undefined) {
        url.search = new URLSearchParams({
          wait_for_change: 'true',
          last_etag: etag,
          timeout_sec: String(HOLD_SECONDS),
        }).toString();
      }
      const timeoutMs = etag === undefined ? FIRST_TIMEOUT_MS : HELD_TIMEOUT_MS;
      // A server that came back after a failure may have started anew: the value is asked for without waiting.
      etag = undefined;
      const answer = await askMetadata(url, { headers: { 'Metadata-Flavor': 'Google' }, timeoutMs }, signal);
      if (answer.status !== 200) throw unexpectedStatus(url, answer.status);
      if (answer.headers['metadata-flavor'] !== 'Google') {
        return [unknown('an answer without "Metadata-Flavor: Google": this is no metadata server of GCP')];
      }
      etag = typeof answer.headers.etag === 'string' ? answer.headers.etag : undefined;
      return [read(answer.body)];
    },
  };
}
