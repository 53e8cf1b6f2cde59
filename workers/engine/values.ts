/** Values of the engine's options: each parser names what it wants when it refuses. */
import { InvalidArgumentError } from 'commander';
import { faultKinds, type SyntheticFault } from '../../src/engine/synthetic-compute.ts';

export function integerIn(min: number, max: number): (text: string) => number {
  return (text) => {
    const value = Number(text);
    if (/^\d+$/.test(text) && value >= min && value <= max) return value;
    throw new InvalidArgumentError(`Expected a whole number from ${min} to ${max}.`);
  };
}

export function numberIn(min: number, max: number): (text: string) => number {
  return (text) => {
    const value = Number(text);
    if (/^\d+(\.\d+)?$/.test(text) && value >= min && value <= max) return value;
    throw new InvalidArgumentError(`Expected a number from ${min} to ${max}.`);
  };
}

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
