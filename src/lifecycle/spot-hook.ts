/**
 * The operator's own hook, a file or a URL: that it is there is the notice. Its body may say when the end is: JSON with
 * `deadline` (ISO 8601 with a time zone, or milliseconds since the epoch) or `left_ms`. A body of another kind is no
 * reason to doubt the notice.
 */
import { jsonObject, leftUntil, noticed, type SpotReading, unknown } from './spot-notice.ts';

/** The notice; after it what was not understood about it, if anything. */
export function readHook(body: string, nowMs: number): readonly SpotReading[] {
  if (body.trim() === '') return [noticed('interruption')];
  const leftMs = leftOf(jsonObject(body), nowMs);
  if (leftMs !== undefined) return [noticed('interruption', leftMs)];
  return [
    noticed('interruption'),
    unknown(`the hook holds neither a "deadline" nor "left_ms" as JSON (${body.length} characters)`),
  ];
}

function leftOf(document: Readonly<Record<string, unknown>> | undefined, nowMs: number): number | undefined {
  if (document === undefined) return undefined;
  const { deadline, left_ms: left } = document;
  if (typeof left === 'number' && Number.isFinite(left)) return Math.max(0, left);
  if (typeof deadline === 'number' && Number.isFinite(deadline)) return Math.max(0, deadline - nowMs);
  return leftUntil(deadline, nowMs);
}
