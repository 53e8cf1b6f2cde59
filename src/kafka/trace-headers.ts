/** The W3C trace context that a producer put into the headers of a message. Whether it is one is for whoever uses it to see. */
import type { TraceContext } from '../telemetry/tracing.ts';
import { type HeaderList, headerText } from './headers.ts';

/** Longer ones are not worth reading. */
const MAX_LENGTH = 1_024;

export function traceContextOf(headers: HeaderList): TraceContext | undefined {
  const traceparent = headerText(headers, 'traceparent');
  if (traceparent === undefined || traceparent.length > MAX_LENGTH) return undefined;
  const tracestate = headerText(headers, 'tracestate');
  return tracestate === undefined || tracestate.length > MAX_LENGTH ? { traceparent } : { traceparent, tracestate };
}
