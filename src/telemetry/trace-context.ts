/**
 * W3C trace context: what of a `traceparent` is one, and how ours is written. Pure.
 *
 * A later version may have more behind the flags; what we know of it counts, as the specification asks. An id of zeros is none.
 */
export type TraceParent = { readonly traceId: string; readonly spanId: string; readonly traceFlags: number };

const TRACEPARENT =
  /^(?!ff)([0-9a-f]{2})-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-([0-9a-f]{2})(-[\x20-\x7e]*)?$/;

export function parseTraceparent(text: string): TraceParent | undefined {
  const match = TRACEPARENT.exec(text);
  if (match === null) return undefined;
  const [, version, traceId, spanId, flags, more] = match;
  if (version === '00' && more !== undefined) return undefined;
  return { traceId: traceId!, spanId: spanId!, traceFlags: Number.parseInt(flags!, 16) };
}

export function formatTraceparent({ traceId, spanId, traceFlags }: TraceParent): string {
  return `00-${traceId}-${spanId}-${(traceFlags & 0xff).toString(16).padStart(2, '0')}`;
}
