/**
 * Is the consumer a member of its group, and does it get on. Pure. Says earlier than the watchdog acts that something stands
 * still; what is waited out (a hold, an outage of the model server) has a check of its own and is not told twice.
 */
import type { SourceStatus } from '../../src/kafka/source.ts';

export type ConsumerPulse = {
  readonly status: Pick<SourceStatus, 'joined' | 'reason' | 'silentMs'>;
  /** Records taken and not settled. */
  readonly inFlight: number;
  /** Since when nothing has happened to any record. */
  readonly quietMs: number;
  /** Work may stand still now. */
  readonly excused: boolean;
};

export type ConsumerLimits = { readonly silentMs: number; readonly quietMs: number };

/** Why it is not well; undefined while it is. */
export function consumerFault(pulse: ConsumerPulse, limits: ConsumerLimits): string | undefined {
  const { status, inFlight, quietMs, excused } = pulse;
  if (!status.joined) return status.reason ?? 'not a member of the group';
  if (status.silentMs > limits.silentMs) return `no broker has answered for ${seconds(status.silentMs)}`;
  const stands = inFlight > 0 && quietMs > limits.quietMs && !excused;
  return stands ? `records are in flight, and nothing has happened to them for ${seconds(quietMs)}` : undefined;
}

function seconds(ms: number): string {
  return `${Math.floor(ms / 1_000)} s`;
}
