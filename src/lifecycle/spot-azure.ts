/**
 * Azure: the list of Scheduled Events. It names the machines of a whole scale set or availability set, so only events
 * about this one count. Once an event has started its NotBefore is empty: nothing is left.
 */
import { jsonObject, leftUntil, type SpotKind, type SpotReading, unknown } from './spot-notice.ts';

const KIND_OF: Readonly<Record<string, SpotKind | undefined>> = {
  Preempt: 'interruption',
  Terminate: 'interruption',
  Reboot: 'maintenance',
  Redeploy: 'maintenance',
};
/** The machine pauses for some seconds and keeps its memory. */
const HARMLESS = 'Freeze';

/** @param machineName as the instance metadata spell it; names are compared whatever the case */
export function readAzureEvents(body: string, machineName: string, nowMs: number): readonly SpotReading[] {
  const events = jsonObject(body)?.Events;
  if (!Array.isArray(events)) return [unknown(`the answer has no list of Events (${body.length} characters)`)];
  return events.flatMap((event: unknown) => readEvent(event, machineName.toLowerCase(), nowMs));
}

function readEvent(event: unknown, machineName: string, nowMs: number): readonly SpotReading[] {
  const { EventId, EventType, EventStatus, Resources, NotBefore } = (event ?? {}) as Record<string, unknown>;
  if (typeof EventType !== 'string' || !Array.isArray(Resources)) {
    return [unknown('an event without EventType or Resources')];
  }
  const isOurs = Resources.some((name) => typeof name === 'string' && name.toLowerCase() === machineName);
  if (!isOurs || EventType === HARMLESS) return [];
  const kind = Object.hasOwn(KIND_OF, EventType) ? KIND_OF[EventType] : undefined;
  if (kind === undefined) return [unknown('an event of a type that is not documented')];
  const leftMs = EventStatus === 'Started' ? 0 : leftUntil(NotBefore, nowMs);
  const notice = { kind, leftMs, ...(typeof EventId === 'string' ? { eventId: EventId } : {}) };
  return [{ kind: 'notice', notice }];
}
