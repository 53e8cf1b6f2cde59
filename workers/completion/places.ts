/**
 * What may stand where on the command line, read from the commands themselves: a place is the root, a group or a command,
 * and knows its subcommands, its options and what their values can be. Nothing here is written by hand, so a completion
 * cannot forget an option. Whether a value is a path is told by the name of its placeholder: <file>, <folder>, <path>.
 */
import type { Argument, Command, Option } from 'commander';

/** `none`: a number, a name, a time; a shell cannot know it. */
export type Values = 'file' | 'folder' | 'none' | readonly string[];

export type OptionWord = {
  /** Short and long form. */
  readonly flags: readonly string[];
  readonly about: string;
  readonly takesValue: boolean;
  readonly values: Values;
};

export type Place = {
  /** `` for the root, else as `/dlq/replay`. */
  readonly path: string;
  readonly commands: readonly { readonly name: string; readonly about: string }[];
  readonly options: readonly OptionWord[];
  readonly operands: readonly { readonly values: Values; readonly repeats: boolean }[];
};

/** The root first, then each command before its subcommands. */
export function placesOf(command: Command, path = ''): readonly Place[] {
  const help = command.createHelp();
  const subcommands = help.visibleCommands(command);
  const names = subcommands.map((one) => one.name());
  const place: Place = {
    path,
    commands: subcommands.map((one) => ({ name: one.name(), about: oneLine(one.description()) })),
    options: help.visibleOptions(command).map(optionWord),
    operands: command.registeredArguments.map((one) => ({ values: valuesOf(one), repeats: one.variadic })),
  };
  return [place, ...subcommands.flatMap((one) => below(one, `${path}/${one.name()}`, names, command))];
}

/** The `help` of a group is made by commander and is no entry of its commands; its operand is one of its neighbours. */
function below(command: Command, path: string, neighbours: readonly string[], parent: Command): readonly Place[] {
  if (parent.commands.includes(command)) return placesOf(command, path);
  const values = neighbours.filter((name) => name !== command.name());
  return [{ path, commands: [], options: [], operands: [{ values, repeats: false }] }];
}

function optionWord(option: Option): OptionWord {
  return {
    flags: [option.short, option.long].filter((flag) => flag !== undefined),
    about: oneLine(option.description),
    takesValue: option.required,
    values: option.argChoices ?? pathKind(/[<[](.+?)(?:\.{3})?[>\]]/.exec(option.flags)?.[1] ?? ''),
  };
}

function valuesOf(operand: Argument): Values {
  return operand.argChoices ?? pathKind(operand.name());
}

function pathKind(placeholder: string): Values {
  const words = placeholder.split('|');
  if (words.some((word) => word === 'file' || word === 'path')) return 'file';
  return words.includes('folder') ? 'folder' : 'none';
}

/** A completion menu has one line for each entry, and a control character would reach the terminal. */
function oneLine(text: string): string {
  return text.replaceAll(/[\s\p{Cc}]+/gu, ' ').trim();
}
