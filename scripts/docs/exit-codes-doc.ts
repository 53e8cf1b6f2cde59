/** docs/exit-codes.md, written from the codes and from what each command says of them in its help. Pure. */
import type { Command } from 'commander';
import { type ExitCode, exitCodeMeanings, exitCodes } from '../../workers/exit-codes.ts';
import { helpOf } from './help-text.ts';

const HEAD = `# Exit codes

Written from [workers/exit-codes.ts](../workers/exit-codes.ts) and the commands' help by \`make docs\`; a test holds them together.

| code | meaning |
|---|---|
`;

const OF_COMMANDS = `
Wrong usage and wrong settings are found before anything is started, and each of them is listed. Every other error has a code of
its own on standard error, such as \`KAFKA_UNAVAILABLE\`: [faults.md](faults.md) has them all.

## What they mean for a command

Commands that are not here say no more than the table above.

| command | 0 | 1 | 2 | 3 |
|---|---|---|---|---|
`;

export function renderExitCodesDoc(program: Command): string {
  const codes = Object.entries(exitCodes) as [keyof typeof exitCodes, ExitCode][];
  const general = codes.map(([name, code]) => `| ${code} | ${cell(exitCodeMeanings[name])} |\n`).join('');
  const usual = exitCodesIn(helpOf(program));
  const own = leaves(program)
    .map((command) => ({ name: nameOf(command), says: exitCodesIn(helpOf(command)) }))
    .filter(({ says }) => JSON.stringify([...says]) !== JSON.stringify([...usual]))
    .map(
      ({ name, says }) => `| \`${name}\` | ${[0, 1, 2, 3].map((code) => cell(says.get(code) ?? '–')).join(' | ')} |\n`,
    )
    .join('');
  return `${HEAD}${general}${OF_COMMANDS}${own}`;
}

/** `Exit codes: 0 this; 1 that.`, or one code a line. */
export function exitCodesIn(help: string): ReadonlyMap<number, string> {
  const [, list = ''] = /^Exit codes[^:]*:([\s\S]*?)(?:\n\n|$(?![\s\S]))/m.exec(help) ?? [];
  const parts = [
    ...list.replaceAll(/\s*\n\s*(?=[0-3] )/g, '; ').matchAll(/(?:^|[;,.])\s*([0-3]) +([\s\S]*?)(?=[;,.]\s*[0-3] |$)/g),
  ];
  return new Map(parts.map(([, code, meaning = '']) => [Number(code), tidy(meaning)]));
}

function tidy(text: string): string {
  return text.replaceAll(/\s+/g, ' ').trim().replace(/[.;]$/, '');
}

function leaves(command: Command): readonly Command[] {
  return command.commands.length === 0 ? [command] : command.commands.flatMap(leaves);
}

function nameOf(command: Command): string {
  const { parent } = command;
  return parent === null ? command.name() : `${nameOf(parent)} ${command.name()}`;
}

function cell(text: string): string {
  return text.replaceAll('|', '\\|');
}
