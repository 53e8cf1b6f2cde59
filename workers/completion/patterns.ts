/** The places as branches of a shell's `case`: the same questions are asked in bash, zsh and fish. */
import type { Place, Values } from './places.ts';

export type Branch = { readonly on: readonly string[]; readonly values: Values };

/** Paths of all commands: a word that leads to one of them goes on from there. */
export function commandPaths(places: readonly Place[]): readonly string[] {
  return places.map(({ path }) => path).filter((path) => path !== '');
}

/** `/plan --gpu`: options after which the next word is their value. */
export function valueOptions(places: readonly Place[]): readonly string[] {
  return optionBranches(places).flatMap(({ on }) => on);
}

/** Values of options that a shell can offer. */
export function knownOptionValues(places: readonly Place[]): readonly Branch[] {
  return optionBranches(places).filter(({ values }) => values !== 'none');
}

/** `/models/push 0`: what the operands are, counted from 0; `*` where the last one may be repeated. */
export function knownOperands(places: readonly Place[]): readonly { path: string; nth: string; values: Values }[] {
  return places.flatMap(({ path, operands }) =>
    operands
      .map(({ values, repeats }, index) => ({ path, nth: repeats ? '*' : String(index), values }))
      .filter(({ values }) => values !== 'none'),
  );
}

function optionBranches(places: readonly Place[]): readonly Branch[] {
  return places.flatMap(({ path, options }) =>
    options
      .filter(({ takesValue }) => takesValue)
      .map(({ flags, values }) => ({ on: flags.map((flag) => `${path} ${flag}`), values })),
  );
}
