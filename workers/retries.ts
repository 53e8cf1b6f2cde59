/** `rag-serving retries`: its commands and their options. What they start is loaded only when one of them runs. */
import type { Command } from 'commander';
import type { Env } from '../src/config/env-reader.ts';
import { EXIT_CODES_HELP } from './exit-codes.ts';
import { addFilterOptions } from './letters/filter-options.ts';
import type { ChangeFlags } from './retries/change.ts';
import type { RetriesListFlags } from './retries/list.ts';
import { integerIn } from './tool/number-options.ts';

const HELP = `
Settings are the worker's: the queue is that of its KAFKA_CONSUMER_GROUP, KAFKA_TOPIC and store (RAG_SERVING_SINK and the
store's own), in RAG_SERVING_RETRY_REDIS_URL or RAG_SERVING_REDIS_URL. Kafka is not asked. Workers may run meanwhile.
With RAG_SERVING_RETRY_PAYLOAD=origin the queue does not know ids, so --chunk and --document choose none of those retries.

Examples:
  rag-serving retries list
  rag-serving retries run-now --code INFERENCE_REJECTED
  rag-serving retries drop --document doc-7 --dry-run
${EXIT_CODES_HELP}`;

const LIST_HELP = `
Examples:
  rag-serving retries list --code INFERENCE_REJECTED
  rag-serving retries list --document doc-7 --json
${EXIT_CODES_HELP}`;

const RUN_NOW_HELP = `
What waits for its time is made due; a worker takes it within half a second. The attempt counts like any other.

Examples:
  rag-serving retries run-now
  rag-serving retries run-now --since 1h --limit 100 --json
${EXIT_CODES_HELP}`;

const DROP_HELP = `
A retry that is dropped is gone: its offset is committed, it is neither stored nor dead-lettered. What a worker is running
at that moment is left.

Examples:
  rag-serving retries drop --chunk doc-7#3
  rag-serving retries drop --code CHUNK_INVALID --yes
${EXIT_CODES_HELP}`;

const MAX_COUNT = 1_000_000_000;

/** Adds the `retries` commands. `env` is the process's environment. */
export function registerRetriesCommand(program: Command, env: Env): void {
  const retries = program
    .command('retries')
    .description('chunks that wait for another attempt: list them, run them now, drop them')
    .addHelpText('after', HELP);
  const filtered = (name: string, description: string, help: string) =>
    addFilterOptions(retries.command(name), 'retries', 'the topic of chunks', Date.now)
      .description(description)
      .addHelpText('after', help);

  filtered('list', 'the retries: running, due, then those that wait, the next one first', LIST_HELP)
    .option('--limit <n>', 'at most so many (default: 100; all with --json)', integerIn(1, MAX_COUNT))
    .option('--json', 'one JSON object a line')
    .action(async (flags: RetriesListFlags) => {
      process.exitCode = await (await import('./retries/list.ts')).runRetriesList(flags, env);
    });

  filtered('run-now', 'make retries that wait for their time due at once', RUN_NOW_HELP)
    .option('--limit <n>', 'at most so many', integerIn(1, MAX_COUNT))
    .option('--dry-run', 'count them, and do nothing')
    .option('--json', 'the summary as one JSON object')
    .action(async (flags: ChangeFlags) => {
      process.exitCode = await (await import('./retries/change.ts')).runRetriesNow(flags, env);
    });

  filtered('drop', 'remove retries for good', DROP_HELP)
    .option('--limit <n>', 'at most so many', integerIn(1, MAX_COUNT))
    .option('--dry-run', 'count them, and do nothing')
    .option('--yes', 'do not ask')
    .option('--json', 'the summary as one JSON object')
    .action(async (flags: ChangeFlags) => {
      process.exitCode = await (await import('./retries/change.ts')).runRetriesDrop(flags, env);
    });
}
