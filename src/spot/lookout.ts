/** Lookout: the port to one place where a notice can show up. Asked again and again; keeps what it needs in between. */
import type { SpotReading } from '../lifecycle/spot-notice.ts';

export interface Lookout {
  /** For the log. */
  readonly name: string;
  /**
   * What is there now; may take long where the server holds the question until something changes. Rejects with a
   * ServingError while the server cannot be asked, or with the signal's reason.
   */
  look(signal: AbortSignal): Promise<readonly SpotReading[]>;
  /** Lets the cloud go ahead before its own deadline, where it takes that. */
  acknowledge?(eventId: string, signal: AbortSignal): Promise<void>;
}
