/** Settings that are read and do nothing, or do something unsafe. Wrong ones never come here: nothing can be checked with them. */
import { type Outcome, ok, warn } from '../check.ts';

export function settingsVerdict(warnings: readonly string[]): Outcome {
  if (warnings.length === 0) return ok('all can be used, and no name is unknown');
  return warn(warnings.join('\n'), 'correct or unset what is named');
}
