/**
 * `rag-serving models`: the group of commands about model files. A new one is a file in models/ that registers itself on
 * the group, and a line in the list. What they start is loaded only when one runs.
 */
import type { Command } from 'commander';
import type { Env } from '../src/config/env-reader.ts';
import { EXIT_CODES_HELP } from './exit-codes.ts';
import { registerCheckCommand } from './models/check.ts';
import { registerGc } from './models/gc.ts';
import { registerGoldenCommand } from './models/golden.ts';
import { registerList } from './models/list.ts';
import { registerPull } from './models/pull.ts';
import { registerPush } from './models/push.ts';
import { registerVerify } from './models/verify.ts';

const HELP = `
The registry is MODEL_REGISTRY_STORAGE_URI, or --registry: s3://bucket/prefix/ or file:///folder.

Examples:
  rag-serving models push ./online_embedding online_embedding --tag latest
  rag-serving models pull online_embedding:latest /models/online_embedding
  rag-serving models check --model online_embedder_ensemble --golden /models/online_embedding
${EXIT_CODES_HELP}`;

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
    .helpCommand('help [command]', 'print help for a command of the group')
    .addHelpText('after', HELP);
  for (const register of subcommands) register(models, env);
}
