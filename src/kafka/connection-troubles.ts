/**
 * The last thing that went wrong on a connection, in kafkajs's words: what it keeps to its log while it goes on trying.
 *
 * An unknown certificate shows in no error for a minute, and a refused group in none at all: kafkajs makes "coordinator not
 * found" of it.
 */
export class ConnectionTroubles {
  #text: string | undefined;
  #atMs = 0;

  note(text: string): void {
    this.#text = text;
    this.#atMs = performance.now();
  }

  /** Undefined when the last one is older. */
  latest(maxAgeMs: number): string | undefined {
    return performance.now() - this.#atMs <= maxAgeMs ? this.#text : undefined;
  }
}
