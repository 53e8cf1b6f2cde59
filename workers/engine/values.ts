/** Values of the engine's options: each parser names what it wants when it refuses. */
import { InvalidArgumentError } from 'commander';
import { faultKinds, type SyntheticFault } from '../../src/engine/synthetic-compute.ts';

export function trueOrFalse(text: string): boolean {
  const value = text.toLowerCase();
  if (value === 'true' || value === 'false') return value === 'true';
  throw new InvalidArgumentError('Expected true or false.');
}

/** `MARKER=kind`; the marker may itself hold `=`. */
export function fault(text: string): SyntheticFault {
  const at = text.lastIndexOf('=');
  const kind = faultKinds.find((known) => known === text.slice(at + 1));
  if (at > 0 && kind !== undefined) return { marker: text.slice(0, at), kind };
  throw new InvalidArgumentError(`Expected MARKER=KIND with a KIND of ${faultKinds.join(', ')}.`);
}
