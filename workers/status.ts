/** `rag-serving status`: its options. What they start is loaded only when it runs. */
import { type Command, InvalidArgumentError } from 'commander';
import type { Env } from '../src/config/env-reader.ts';
import { EXIT_CODES_HELP } from './exit-codes.ts';
import type { StatusFlags } from './status/run.ts';
import { numberIn } from './tool/number-options.ts';

const HELP = `
Settings are the worker's: brokers, KAFKA_TOPIC, KAFKA_CONSUMER_GROUP, the dead-letter topic, the Redis of retries, the
model server. With RAG_SERVING_API_KEY it is sent to the workers of --worker. Nothing is changed in any of them.

What gives no answer is shown with its error code, the rest goes on, and the exit code is 1. With --watch Ctrl-C ends it
with 0. Colours only on a terminal; NO_COLOR turns them off.

Examples:
  rag-serving status
  rag-serving status --worker http://10.0.0.7:8080 --worker http://10.0.0.8:8080 --watch
  rag-serving status --json --interval 0 | jq -r .lag
  rag-serving status --watch --json --refresh 10 >> status.ndjson
${EXIT_CODES_HELP}`;

/** Adds the `status` command. `env` is the process's environment. */
export function registerStatusCommand(program: Command, env: Env): void {
  program
    .command('status')
    .description('how the ingest stands: lag, rate, time to zero, members, retries, dead letters, engine, workers')
    .option('--worker <url>', 'ops server of a worker (http://host:8080); repeatable', workerUrl)
    .option('--no-engine', 'do not ask the model server, where it cannot be reached from here')
    .option('--interval <seconds>', 'measure rates over so long; 0 measures none', numberIn(0, 3_600), 3)
    .option('--watch', 'go on until Ctrl-C: a dashboard on a terminal, else one block a look')
    .option('--refresh <seconds>', 'with --watch, time between two looks', numberIn(0.5, 3_600), 2)
    .option('--json', 'one JSON object; with --watch one a line')
    .addHelpText('after', HELP)
    .action(async (flags: StatusFlags) => {
      process.exitCode = await (await import('./status/run.ts')).runStatus(flags, env);
    });
}

function workerUrl(text: string, before: readonly string[] = []): readonly string[] {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  const usable = url !== undefined && /^https?:$/.test(url.protocol) && url.username === '' && url.password === '';
  if (usable) return [...before, text];
  throw new InvalidArgumentError('Give http://host:port of an ops server; a key goes into RAG_SERVING_API_KEY.');
}
