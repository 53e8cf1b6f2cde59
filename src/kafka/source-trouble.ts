/** Why a source does not consume, in words; pure. */
import type { ConnectionTroubles } from './connection-troubles.ts';

export const JOINING = 'joining the group';
/** Longer than a fetch and a common rebalance. */
const SILENT_MS = 10_000;

export type SourceSigns = {
  /** What is known to stand in the way. */
  readonly reason: string | undefined;
  readonly isStarted: boolean;
  readonly silentMs: number;
  readonly troubles: Pick<ConnectionTroubles, 'latest'>;
  readonly starved: () => string | undefined;
};

export function sourceTrouble({ reason, isStarted, silentMs, troubles, starved }: SourceSigns): string | undefined {
  if (reason !== undefined && reason !== JOINING) return reason;
  if (isStarted && silentMs > SILENT_MS) {
    const why = troubles.latest(silentMs);
    const silence = `KAFKA_UNAVAILABLE: no sign of life from the brokers for ${Math.floor(silentMs / 1_000)} s`;
    return why === undefined ? silence : `${silence} (${why})`;
  }
  return reason ?? starved();
}
