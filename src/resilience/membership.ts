/**
 * Which addresses of a name are in use, given the answers of its name server. Pure.
 *
 * An address joins with the first answer that has it, and leaves with the second in a row that has not: one answer may be a
 * part of the truth (cut to the size of a datagram, from a server that lags). An empty answer changes nothing: that a
 * service has no address at all is more often a fault of the name server than the truth, and a connection to a server that
 * has gone fails by itself.
 */
export type MembershipChange = { readonly joined: readonly string[]; readonly left: readonly string[] };

const MISSED_TO_LEAVE = 2;

export class Membership {
  /** In how many answers in a row each known address was missing. */
  readonly #missed = new Map<string, number>();

  get size(): number {
    return this.#missed.size;
  }

  answer(found: readonly string[]): MembershipChange {
    if (found.length === 0) return { joined: [], left: [] };
    const now = new Set(found);
    const joined = [...now].filter((address) => !this.#missed.has(address));
    const left: string[] = [];
    for (const [address, missed] of this.#missed) {
      if (now.has(address)) this.#missed.set(address, 0);
      else if (missed + 1 < MISSED_TO_LEAVE) this.#missed.set(address, missed + 1);
      else left.push(address);
    }
    for (const address of joined) this.#missed.set(address, 0);
    for (const address of left) this.#missed.delete(address);
    return { joined, left };
  }
}
