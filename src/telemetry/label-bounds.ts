/** Which values a label may take, so that no series is made of what a message, a client or a server says. Pure. */

/** A closed list of values, or a number of distinct ones, after which new ones are called `other`. */
export type LabelRule<V extends string = string> = readonly V[] | { readonly atMost: number };
export type LabelRules = Readonly<Record<string, LabelRule>>;
export type LabelValues<L extends LabelRules> = {
  readonly [K in keyof L]: L[K] extends readonly (infer V extends string)[] ? V : string;
};

const FOLDED = 'other';
const LONGEST_VALUE = 128;

export class LabelBounds<L extends LabelRules> {
  readonly #each: readonly { readonly name: string; readonly rule: LabelRule; readonly seen: Set<string> }[];

  constructor(rules: L) {
    this.#each = Object.entries(rules).map(([name, rule]) => ({
      name,
      rule,
      seen: new Set('atMost' in rule ? [] : rule),
    }));
  }

  bounded(labels: LabelValues<L>): Record<string, string> {
    const bounded: Record<string, string> = {};
    for (const { name, rule, seen } of this.#each) {
      const value: unknown = (labels as Record<string, unknown>)[name];
      bounded[name] = typeof value === 'string' && isAllowed(value, rule, seen) ? value : FOLDED;
    }
    return bounded;
  }

  /** All series were taken away: what comes now has their room. */
  forget(): void {
    for (const { rule, seen } of this.#each) if ('atMost' in rule) seen.clear();
  }
}

function isAllowed(value: string, rule: LabelRule, seen: Set<string>): boolean {
  if (seen.has(value)) return true;
  if (!('atMost' in rule) || seen.size >= rule.atMost || value.length > LONGEST_VALUE) return false;
  seen.add(value);
  return true;
}

/** Every combination of closed lists; undefined where a label has no list or there are more than `atMost`. */
export function allCombinations(rules: LabelRules, atMost: number): readonly Record<string, string>[] | undefined {
  let found: Record<string, string>[] = [{}];
  for (const [name, rule] of Object.entries(rules)) {
    if ('atMost' in rule || found.length * rule.length > atMost) return undefined;
    found = found.flatMap((labels) => rule.map((value) => ({ ...labels, [name]: value })));
  }
  return found;
}
