/** `rag-serving completion`: a script for the shell, written from the commands as they are in this version. */
import { Argument, type Command } from 'commander';
import type { Env } from '../src/config/env-reader.ts';
import { bashCompletion } from './completion/bash.ts';
import { fishCompletion } from './completion/fish.ts';
import { placesOf } from './completion/places.ts';
import { zshCompletion } from './completion/zsh.ts';
import { EXIT_CODES_HELP } from './exit-codes.ts';

const scripts = { bash: bashCompletion, zsh: zshCompletion, fish: fishCompletion };

const HELP = `
It reads no setting and connects to nothing. Write it anew after an update.

Examples:
  source <(rag-serving completion bash)                                       this shell only
  rag-serving completion bash > ~/.local/share/bash-completion/completions/rag-serving
  rag-serving completion zsh > "\${fpath[1]}/_rag-serving"
  rag-serving completion fish > ~/.config/fish/completions/rag-serving.fish
${EXIT_CODES_HELP}`;

/** Adds the command `completion`. `env` is the process's environment. */
export function registerCompletionCommand(program: Command, env: Env): void {
  program
    .command('completion')
    .description('print a script that completes commands, options and values in bash, zsh or fish')
    .addArgument(new Argument('<shell>', 'whose completion').choices(Object.keys(scripts)))
    .addHelpText('after', HELP)
    .action(async (shell: keyof typeof scripts) => {
      // Loaded only now: the command line loads this file.
      const { buildProgram } = await import('./command-line.ts');
      const { stdout, stderr } = process;
      const whole = await buildProgram(() => true, { env, version: program.version() ?? '', stdout, stderr });
      stdout.write(scripts[shell](placesOf(whole)));
    });
}
