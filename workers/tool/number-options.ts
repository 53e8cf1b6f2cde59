/** Numbers that options take: each parser names what it wants when it refuses. */
import { InvalidArgumentError } from 'commander';

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

/** Of an option that may be given several times. */
export function partitions(text: string, before: readonly number[] = []): readonly number[] {
  return [...before, integerIn(0, 1_000_000)(text)];
}
