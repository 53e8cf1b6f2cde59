/** Variables that look like ours and are not: most often a typo, so the nearest real name is told. A warning, never an error. */
const PREFIX = 'RAG_SERVING_';
const MAX_DISTANCE = 4;

export function unknownNameWarnings(names: readonly string[], known: readonly string[]): string[] {
  const real = new Set(known);
  return names
    .filter((name) => name.toUpperCase().startsWith(PREFIX) && !real.has(name))
    .sort()
    .map((name) => {
      const near = nearest(name, known);
      const shown = name.length > 80 ? `${name.slice(0, 80)}…` : name;
      return `${shown} is no setting and has no effect${near === undefined ? '' : `; did you mean ${near}?`}`;
    });
}

function nearest(name: string, known: readonly string[]): string | undefined {
  if (name.length > 80) return undefined;
  let best: { name: string; distance: number } | undefined;
  for (const candidate of known) {
    const distance = editDistance(name, candidate);
    if (distance <= MAX_DISTANCE && (best === undefined || distance < best.distance))
      best = { name: candidate, distance };
  }
  return best?.name;
}

/** Levenshtein distance, one row at a time. */
function editDistance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, index) => index);
  for (let i = 1; i <= a.length; i++) {
    const next = [i];
    for (let j = 1; j <= b.length; j++) {
      const replaced = row[j - 1]! + (a[i - 1] === b[j - 1] ? 0 : 1);
      next.push(Math.min(replaced, row[j]! + 1, next[j - 1]! + 1));
    }
    row = next;
  }
  return row[b.length]!;
}
