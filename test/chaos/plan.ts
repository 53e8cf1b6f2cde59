/** What a chaos run does, from its seed alone: the same seed gives the same faults and the same stream of chunks. Pure. */

export type Random = {
  /** In [0, 1). */
  next(): number;
  /** A whole number from `from` to `to`, both included. */
  between(from: number, to: number): number;
};

/** mulberry32: small, and the same on every machine. */
export function randomFrom(seed: number): Random {
  let state = seed >>> 0;
  const next = () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
  return { next, between: (from, to) => from + Math.floor(next() * (to - from + 1)) };
}

export const faults = [
  'kill a worker',
  'stop a worker',
  'kill the engine',
  'freeze the engine',
  'cut the engine off',
  'kill Redis',
] as const;
export type Fault = (typeof faults)[number];

export type Round = {
  readonly fault: Fault;
  /** Which of the workers, for the faults of one. */
  readonly worker: number;
  /** How long the fault lasts, and how long it is quiet after it. */
  readonly lastsMs: number;
  readonly quietMs: number;
};

/** Each fault at least once when there are enough rounds, in an order of the seed's. */
export function planRounds(seed: number, rounds: number, workers: number): Round[] {
  const random = randomFrom(seed);
  const kinds: Fault[] = [];
  while (kinds.length < rounds) {
    const deck: Fault[] = [...faults];
    while (deck.length > 0) kinds.push(...deck.splice(random.between(0, deck.length - 1), 1));
  }
  return kinds.slice(0, rounds).map((fault) => ({
    fault,
    worker: random.between(0, workers - 1),
    lastsMs: random.between(200, 2_500),
    quietMs: random.between(300, 2_000),
  }));
}

export type Revision = {
  readonly chunkId: string;
  readonly documentId: string;
  readonly version: number;
  readonly text: string;
};

/** An endless stream of chunks, new ones and updates of old ones; `newest` holds the last revision of each. */
export class Revisions {
  readonly newest = new Map<string, Revision>();
  readonly #random: Random;
  readonly #ids: number;

  constructor(seed: number, ids: number) {
    this.#random = randomFrom(seed ^ 0x5eed);
    this.#ids = ids;
  }

  take(count: number): Revision[] {
    return Array.from({ length: count }, () => {
      const id = this.#random.between(0, this.#ids - 1);
      const documentId = `doc-${id % 100}`;
      const chunkId = `${documentId}#${id}`;
      const version = (this.newest.get(chunkId)?.version ?? 0) + 1;
      const revision = { chunkId, documentId, version, text: `chunk ${id} in its revision ${version}` };
      this.newest.set(chunkId, revision);
      return revision;
    });
  }
}
