/**
 * Command line of the local stack: `up` runs real servers until Ctrl-C, `fetch` only downloads them.
 *
 * Standard output holds what is asked for (endpoints as shell exports, folders, versions); progress goes to standard error.
 */
import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { Command } from 'commander';
import { isServingError, ServingError } from '../../src/errors.ts';
import { modelsIn } from '../build-model-repos/check/model-folder.ts';
import { cacheRoot, type Report } from './cache.ts';
import { fetchParts, type PartName, partNames, partVersions } from './parts.ts';
import { type Endpoints, exportLines, startStack } from './stack.ts';

type Chosen = { readonly [name in PartName]?: true };

const report: Report = (line) => void process.stderr.write(`${line}\n`);

/** The parts that were named, or all of them. */
function chosenParts(options: Chosen): readonly PartName[] {
  const named = partNames.filter((name) => options[name] === true);
  return named.length === 0 ? partNames : named;
}

function withParts(command: Command): Command {
  for (const name of partNames) command.option(`--${name}`, `only ${name} (may be combined)`);
  return command;
}

type UpOptions = Chosen & { readonly json?: string; readonly modelRepository?: string };

async function up(options: UpOptions): Promise<void> {
  const { modelRepository } = options;
  const parts = chosenParts(options);
  if (modelRepository !== undefined) await checkRepository(modelRepository, parts);
  const stopped = Promise.race([once(process, 'SIGINT'), once(process, 'SIGTERM'), once(process, 'SIGHUP')]);
  const stack = await Promise.race([
    startStack(parts, report, { modelRepository: modelRepository && resolve(modelRepository) }),
    stopped.then(() => undefined),
  ]);
  if (stack === undefined) process.exit(130); // what had been started dies with us
  try {
    if (options.json !== undefined) await announce(options.json, stack.endpoints);
    process.stdout.write(exportLines(stack.endpoints));
    report('ready; Ctrl-C stops everything and removes its data');
    const awake = setInterval(() => undefined, 60_000);
    await stopped;
    clearInterval(awake);
  } finally {
    report('stopping');
    await stack.stop();
  }
}

/** Throws ARGUMENT_INVALID: Triton would start with no model and be ready at once. */
async function checkRepository(folder: string, parts: readonly PartName[]): Promise<void> {
  const wrong = (why: string) => new ServingError('ARGUMENT_INVALID', `--model-repository ${folder}: ${why}`);
  if (!parts.includes('triton')) throw wrong('it is served by Triton, so --triton has to be among the parts');
  const models = await modelsIn(folder).catch((): string[] => []);
  if (models.length === 0) throw wrong('it holds no model, that is no folder with a config.pbtxt');
}

async function announce(file: string, endpoints: Endpoints): Promise<void> {
  await writeFile(file, `${JSON.stringify({ pid: process.pid, ...endpoints }, null, 2)}\n`);
}

async function main(): Promise<void> {
  const program = new Command('stack').description('A real Kafka, Redis and Triton on this machine, without Docker.');
  program.showHelpAfterError();
  withParts(program.command('up'))
    .description('start servers on free ports of 127.0.0.1 and keep them until Ctrl-C')
    .option(
      '--model-repository <folder>',
      'what Triton serves: a repository of build-model-repos in its CPU form (--runtime python), or a pulled one',
    )
    .option('--json <file>', 'also write the endpoints to this file once everything is ready')
    .action(up);
  withParts(program.command('fetch'))
    .description(`download what is missing into ${cacheRoot()}`)
    .action(async (options: Chosen) => {
      for (const line of await fetchParts(chosenParts(options), report)) process.stdout.write(`${line}\n`);
    });
  program.version(partVersions().join('\n'), '--version', 'versions of the servers that this stack starts');
  await program.parseAsync();
}

try {
  await main();
} catch (error) {
  report(isServingError(error) ? `${error.code}: ${error.message}` : String(error));
  process.exitCode = 1;
}
