/**
 * What a live model said of each row, against the reference: the worst of all times it was asked, alone and in a batch
 * apart. Pure. Vectors are compared by cosine and by length, scores by difference and by the order within a query.
 */
import type { Bounds } from './bounds.ts';
import type { Golden, GoldenPair } from './golden-file.ts';
import { type Given, WAYS, type Way } from './interview.ts';
import { allFinite, cosineOf, lengthErrorOf, lengthOf, scoreErrorOf } from './measures.ts';

export type Finding = {
  readonly index: number;
  readonly label: string;
  readonly way: Way;
  /** Times it was answered. */
  readonly answers: number;
  /** Of an embedder: the smallest; null when no answer was finite. */
  readonly cosine: number | null;
  /** Of an embedder: the largest. */
  readonly lengthError: number | null;
  /** Of a reranker: the largest. */
  readonly scoreError: number | null;
  /** Answers with NaN or Infinity in them. */
  readonly notFinite: number;
  /** What is wrong; empty when nothing is. */
  readonly faults: readonly string[];
};

type Tally = {
  answers: number;
  notFinite: number;
  zero: number;
  cosine: number | null;
  lengthError: number | null;
  scoreError: number | null;
  score: number | undefined;
};

export class Findings {
  readonly #golden: Golden;
  readonly #tallies: Record<Way, Map<number, Tally>> = { alone: new Map(), batch: new Map() };

  constructor(golden: Golden) {
    this.#golden = golden;
  }

  take({ index, way, row }: Given): void {
    const tally = this.#tallies[way].get(index) ?? emptyTally();
    this.#tallies[way].set(index, tally);
    tally.answers++;
    if (!allFinite(row)) {
      tally.notFinite++;
      return;
    }
    if (this.#golden.kind === 'embedder') {
      const wanted = this.#golden.rows[index]!.vector;
      if (lengthOf(row) === 0 && lengthOf(wanted) > 0) tally.zero++;
      tally.cosine = Math.min(tally.cosine ?? 1, cosineOf(wanted, row));
      tally.lengthError = Math.max(tally.lengthError ?? 0, lengthErrorOf(wanted, row));
    } else {
      const error = scoreErrorOf(this.#golden.rows[index]!.score, row[0]!);
      if (error >= (tally.scoreError ?? 0)) tally.score = row[0]!;
      tally.scoreError = Math.max(tally.scoreError ?? 0, error);
    }
  }

  /** In the order of the file, each row in a batch and alone; a row without an answer has none of the numbers. */
  judge(bounds: Bounds): Finding[] {
    return this.#golden.rows.flatMap(({ label }, index) =>
      WAYS.map((way) => {
        const tally = this.#tallies[way].get(index) ?? emptyTally();
        const { zero: _zero, score: _score, ...told } = tally;
        return { index, label, way, ...told, faults: faultsOf(tally, bounds) };
      }),
    );
  }

  /** Passages that changed places within their query; too close to tell apart in the reference is no order. */
  orderFaults(bounds: Bounds): string[] {
    if (this.#golden.kind === 'embedder') return [];
    const { rows } = this.#golden;
    return WAYS.flatMap((way) => {
      const scoreOf = (pair: GoldenPair) => this.#tallies[way].get(rows.indexOf(pair))?.score;
      return [...new Set(rows.map(({ query }) => query))].flatMap((query) =>
        swapped(
          rows.filter((pair) => pair.query === query),
          scoreOf,
          bounds.maxScoreError,
        ).map(([better, worse]) => `order (${way}): "${worse.label}" comes before "${better.label}"`),
      );
    });
  }
}

function emptyTally(): Tally {
  return {
    ...{ answers: 0, notFinite: 0, zero: 0 },
    ...{ cosine: null, lengthError: null, scoreError: null, score: undefined },
  };
}

function faultsOf(tally: Tally, bounds: Bounds): string[] {
  const { answers, notFinite, zero, cosine, lengthError, scoreError } = tally;
  const faults: string[] = [];
  if (notFinite > 0) faults.push(`not finite in ${notFinite} of ${answers} answers`);
  if (zero > 0) faults.push(`all zeros in ${zero} of ${answers} answers`);
  if (cosine !== null && !(cosine >= bounds.minCosine)) {
    faults.push(`cosine ${cosine.toFixed(6)} is below ${bounds.minCosine}`);
  }
  if (lengthError !== null && !(lengthError <= bounds.maxLengthError)) {
    faults.push(`the length is off by ${percent(lengthError)}, over ${percent(bounds.maxLengthError)}`);
  }
  if (scoreError !== null && !(scoreError <= bounds.maxScoreError)) {
    faults.push(`the score is off by ${scoreError.toFixed(6)}, over ${bounds.maxScoreError}`);
  }
  return faults;
}

/** For each passage one that comes before it and should not. */
function swapped(
  pairs: readonly GoldenPair[],
  scoreOf: (pair: GoldenPair) => number | undefined,
  tolerance: number,
): [GoldenPair, GoldenPair][] {
  return pairs.flatMap((better): [GoldenPair, GoldenPair][] => {
    const high = scoreOf(better);
    const worse = pairs.find((other) => {
      const low = scoreOf(other);
      const apart = better.score - other.score > 2 * tolerance;
      return apart && high !== undefined && low !== undefined && low > high;
    });
    return worse === undefined ? [] : [[better, worse]];
  });
}

function percent(part: number): string {
  return `${(100 * part).toPrecision(3)} %`;
}
