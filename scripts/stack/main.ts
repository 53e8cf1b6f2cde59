/**
 * Command line of the local stack: `up` runs real servers until Ctrl-C, `fetch` only downloads them.
 *
 * Standard output holds what is asked for (endpoints as shell exports, folders, versions); progress goes to standard error.
 */
import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { Command } from 'commander';
import { isServingError } from '../../src/errors.ts';
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

async function up(options: Chosen & { readonly json?: string }): Promise<void> {
  const stopped = Promise.race([once(process, 'SIGINT'), once(process, 'SIGTERM'), once(process, 'SIGHUP')]);
  const stack = await Promise.race([startStack(chosenParts(options), report), stopped.then(() => undefined)]);
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

async function announce(file: string, endpoints: Endpoints): Promise<void> {
  await writeFile(file, `${JSON.stringify({ pid: process.pid, ...endpoints }, null, 2)}\n`);
}

async function main(): Promise<void> {
  const program = new Command('stack').description('A real Kafka, Redis and Triton on this machine, without Docker.');
  program.showHelpAfterError();
  withParts(program.command('up'))
    .description('start servers on free ports of 127.0.0.1 and keep them until Ctrl-C')
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
