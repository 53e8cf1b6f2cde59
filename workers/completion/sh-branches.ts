/** The branches of `case` that bash and zsh share. What is done in one is the shell's own: the caller writes it. */
import { knownOperands, knownOptionValues } from './patterns.ts';
import type { Place, Values } from './places.ts';
import { quotedForSh } from './quoting.ts';

type Offer = (values: Values) => string;

export function anyOf(texts: readonly string[]): string {
  return texts.map(quotedForSh).join(' | ');
}

/** By place and option: what its value may be. */
export function optionValueBranches(places: readonly Place[], offer: Offer): string {
  return knownOptionValues(places)
    .map(({ on, values }) => `      ${anyOf(on)}) ${offer(values)} ;;`)
    .join('\n');
}

/** By place: its options. */
export function optionBranches(places: readonly Place[], offer: (options: Place['options']) => string): string {
  return places
    .filter(({ options }) => options.length > 0)
    .map(({ path, options }) => `      ${quotedForSh(path)}) ${offer(options)} ;;`)
    .join('\n');
}

/** By place and number of the operand: a command where there are some, else what the operand may be. */
export function operandBranches(
  places: readonly Place[],
  offerCommands: (commands: Place['commands']) => string,
  offer: Offer,
): string {
  return [
    ...places
      .filter(({ commands }) => commands.length > 0)
      .map(({ path, commands }) => `      ${quotedForSh(`${path} 0`)}) ${offerCommands(commands)} ;;`),
    ...knownOperands(places).map(
      ({ path, nth, values }) => `      ${quotedForSh(`${path} `)}${nth}) ${offer(values)} ;;`,
    ),
  ].join('\n');
}
