/**
 * WireFault: what the engine answers instead of a result, with a real Triton's status and wording.
 *
 * Not a ServingError: those are for our own callers, this one is the other end of the wire.
 */
export type WireStatus =
  | 'CANCELLED'
  | 'INVALID_ARGUMENT'
  | 'NOT_FOUND'
  | 'ALREADY_EXISTS'
  | 'UNAVAILABLE'
  | 'INTERNAL'
  | 'UNIMPLEMENTED';

/** Triton's `reason` label of nv_inference_request_failure. */
export type FailureReason = 'REJECTED' | 'CANCELED' | 'BACKEND' | 'OTHER';

export class WireFault extends Error {
  override readonly name = 'WireFault';
  readonly status: WireStatus;
  readonly reason: FailureReason;

  constructor(status: WireStatus, message: string, reason: FailureReason = 'OTHER', cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause });
    this.status = status;
    this.reason = reason;
  }
}

export function invalidArgument(message: string): WireFault {
  return new WireFault('INVALID_ARGUMENT', message);
}

/** What was thrown, as an answer; anything unexpected becomes INTERNAL without its own words, which may quote a text. */
export function asWireFault(error: unknown): WireFault {
  if (error instanceof WireFault) return error;
  const name = error instanceof Error ? error.name : typeof error;
  return new WireFault('INTERNAL', `unexpected ${name} in the engine`, 'OTHER', error);
}
