/**
 * AWS: the documents of the instance metadata. Both paths answer 404 while there is nothing to say, so whatever is read
 * here is news. Hibernation begins at once: its time may have passed already.
 */
import { jsonObject, leftUntil, noticed, type SpotReading, unknown } from './spot-notice.ts';

/** `{"action":"terminate","time":"2017-09-18T08:22:00Z"}`; the action may also be `stop` or `hibernate`. */
export function readAwsInstanceAction(body: string, nowMs: number): SpotReading {
  const document = jsonObject(body);
  if (typeof document?.action !== 'string') {
    return unknown(`instance-action is no JSON object with an action (${body.length} characters)`);
  }
  return noticed('interruption', leftUntil(document.time, nowMs));
}

/** `{"noticeTime":"2020-10-27T08:22:00Z"}`: when it was said, not when anything happens. */
export function readAwsRebalance(body: string): SpotReading {
  const document = jsonObject(body);
  return document !== undefined && leftUntil(document.noticeTime, 0) !== undefined
    ? noticed('rebalance')
    : unknown(`the rebalance recommendation is no JSON object with a noticeTime (${body.length} characters)`);
}
