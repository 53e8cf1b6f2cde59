/** What `--help` of a command prints, at 120 columns; commander gives the texts after the options only while it prints. */
import type { Command } from 'commander';

export function helpOf(command: Command): string {
  let text = '';
  const before = command.configureOutput();
  command.configureOutput({
    ...before,
    writeOut: (part) => {
      text += part;
    },
    getOutHelpWidth: () => 120,
  });
  command.outputHelp();
  command.configureOutput(before);
  return text;
}
