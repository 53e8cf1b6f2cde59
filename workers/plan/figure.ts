/** A line of a plan, and how its numbers are written. Pure. */
import { formatCount } from '../tool/quantity.ts';

/** One line of a plan: a number with the arithmetic that led to it, so that a reader can put in what is true at home. */
export type Figure = { readonly name: string; readonly value: number; readonly unit: Unit; readonly how: string };
export type Unit =
  | 'pods'
  | 'partitions'
  | 'slots'
  | 'chunks/s'
  | 'commits/s'
  | 'bytes/s'
  | 'bytes'
  | 'seconds'
  | 'cost';

export type Section = { readonly title: string; readonly figures: readonly Figure[] };

export function figure(name: string, value: number, unit: Unit, how: string): Figure {
  return { name, value, unit, how };
}

/** `12,500`; below 10 with two decimals at most. */
export function count(value: number): string {
  return formatCount(value < 10 ? Number(value.toFixed(2)) : Math.round(value));
}
