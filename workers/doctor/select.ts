/** Which checks are made: --only takes along what its checks need, and what --skip leaves out is shown as such. Pure. */
import { type Check, type Outcome, skipped } from './check.ts';

export function select(
  checks: readonly Check[],
  only: readonly string[] | undefined,
  skip: readonly string[],
): readonly Check[] {
  const wanted = only === undefined ? checks.map(({ name }) => name) : needed(checks, only);
  const leftOut = async (): Promise<Outcome> => skipped('left out by --skip');
  return checks
    .filter(({ name }) => wanted.includes(name))
    .map((check) => (skip.includes(check.group) ? { ...check, after: [], look: leftOut } : check));
}

function needed(checks: readonly Check[], only: readonly string[]): readonly string[] {
  const names = new Set<string>();
  // From the last to the first: what a check needs stands before it.
  for (const { name, group, after } of checks.toReversed()) {
    if (!only.includes(group) && !names.has(name)) continue;
    names.add(name);
    for (const before of after) names.add(before);
  }
  return [...names];
}
