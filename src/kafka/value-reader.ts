/**
 * How the bytes of a message become the object that the message rules are about, where they are not plain JSON.
 *
 * Reading is synchronous: it must not change the order of messages. What has to be fetched first (a schema) makes the
 * partition wait before that message, and it is read from there again.
 */
export type ValueReader = {
  /** Whether `read` can be called now: it then returns the object, or throws what is wrong with this one value. */
  canRead(value: Uint8Array): boolean;
  /** Throws a ServingError of class `chunk`. */
  read(value: Uint8Array): unknown;
  /**
   * Resolves when the value can be read, however long the other side is away. Rejects with class `fatal` when it never will,
   * with class `outage` when nobody waits any more: the signal's, or the reader was closed.
   */
  prepare(value: Uint8Array, signal?: AbortSignal): Promise<void>;
};
