/**
 * GCP: one word each. `preempted` turns TRUE about 30 s before the end and does not say when; of those, GKE leaves 15 s to
 * ordinary pods. A maintenance that migrates the machine is none of our business; one that terminates it is (machines
 * with a GPU cannot migrate).
 */
import { nothing, noticed, type SpotReading, unknown } from './spot-notice.ts';

export function readGcpPreempted(body: string): SpotReading {
  switch (body.trim().toUpperCase()) {
    case 'TRUE':
      return noticed('interruption');
    case 'FALSE':
      return nothing;
    default:
      return unknown(`preempted is neither TRUE nor FALSE (${body.length} characters)`);
  }
}

export function readGcpMaintenance(body: string): SpotReading {
  switch (body.trim().toUpperCase()) {
    case 'TERMINATE_ON_HOST_MAINTENANCE':
    case 'SHUTDOWN_ON_HOST_MAINTENANCE':
      return noticed('maintenance');
    case 'NONE':
    case 'MIGRATE_ON_HOST_MAINTENANCE':
      return nothing;
    default:
      return unknown(`maintenance-event is none of the documented words (${body.length} characters)`);
  }
}
