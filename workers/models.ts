/**
 * `rag-serving models`: the group of commands about model files. A new one is a file in models/ that registers itself on
 * the group, and a line in the list. What they start is loaded only when one runs.
 */
import type { Command } from 'commander';
import type { Env } from '../src/config/env-reader.ts';
import { registerCheckCommand } from './models/check.ts';
import { registerGc } from './models/gc.ts';
import { registerGoldenCommand } from './models/golden.ts';
import { registerList } from './models/list.ts';
import { registerPull } from './models/pull.ts';
import { registerPush } from './models/push.ts';
import { registerVerify } from './models/verify.ts';

type RegisterInto = (models: Command, env: Env) => void;

/** In the order of the help. */
const subcommands: readonly RegisterInto[] = [
  registerPush,
  registerPull,
  registerList,
  registerVerify,
  registerGc,
  registerCheckCommand,
  registerGoldenCommand,
];

export function registerModelsCommand(program: Command, env: Env): void {
  const models = program
    .command('models')
    .description(
      'push, pull, list, verify and gc of a model registry (S3 or a folder); check and golden of live models',
    )
    .helpCommand('help [command]', 'print help for a command of the group');
  for (const register of subcommands) register(models, env);
}
