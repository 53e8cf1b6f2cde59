/** DeadLetters: the port to where records go that cannot be embedded or stored. */
import type { ServingError } from '../errors.ts';
import type { RawMessage } from '../records/chunk.ts';

export type DeadLetter = {
  readonly raw: RawMessage;
  /** Position inside a batch message; undefined when the whole message is meant. */
  readonly index: number | undefined;
  readonly error: ServingError;
  readonly stage: 'decode' | 'embed' | 'persist';
  readonly attempts: number;
};

export interface DeadLetters {
  /** Resolves once the broker has acknowledged all; rejects with class `outage` when it has not. */
  send(letters: readonly DeadLetter[]): Promise<void>;
  close(): Promise<void>;
}
