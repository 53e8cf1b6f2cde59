/**
 * Whose turn it is among several that have shares: each is chosen as often as its share says, and evenly spread rather than
 * in runs (smooth weighted round robin). With equal shares that is plain round robin. Pure.
 */
export type Contender = {
  /** What it is owed; kept between turns, and begun at 0. */
  credit: number;
  /** > 0, relative to the others'. */
  readonly share: number;
};

/** The one whose turn it is. The credits of all `contenders` change; those who are not among them keep theirs. */
export function nextTurn<T extends Contender>(contenders: readonly T[]): T | undefined {
  let total = 0;
  let chosen: T | undefined;
  for (const contender of contenders) {
    contender.credit += contender.share;
    total += contender.share;
    if (chosen === undefined || contender.credit > chosen.credit) chosen = contender;
  }
  if (chosen !== undefined) chosen.credit -= total;
  return chosen;
}
