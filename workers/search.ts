/** `rag-serving search`: its options. What it starts is loaded only when it runs. */
import type { Command } from 'commander';
import type { Env } from '../src/config/env-reader.ts';
import { EXIT_CODES_HELP } from './exit-codes.ts';
import type { SearchFlags } from './search/run.ts';
import { integerIn } from './tool/number-options.ts';

const HELP = `
Settings are those of the worker's store (RAG_SERVING_SINK and its own), and of the online module:
RAG_SERVING_ONLINE_EMBED_GRPC_URL, _EMBED_MODEL, and with --rerank _RERANK_GRPC_URL, _RERANK_MODEL.
The store is only read: a collection that is not there is not made. Texts and metadata are shown only when asked for.
Without a query each line of standard input is one.

Examples:
  rag-serving search "how often to water a young apple tree"
  rag-serving search --rerank --limit 5 --tenant acme "opening hours"
  rag-serving search --json < queries.txt
${EXIT_CODES_HELP}`;

/** Adds the command `search`. `env` is the process's environment. */
export function registerSearchCommand(program: Command, env: Env): void {
  program
    .command('search')
    .description('ask the store: embed a query, find the nearest chunks, rerank them')
    .argument('[query]', 'what to look for; else each line of standard input')
    .option('--limit <n>', 'results of a query', integerIn(1, 1_000), 10)
    .option('--tenant <id>', 'only chunks of this tenant')
    .option('--rerank', 'let the reranker order the candidates')
    .option('--candidates <n>', 'how many the reranker gets (default: 30, and at least --limit)', integerIn(1, 1_000))
    .option('--timeout <ms>', 'most milliseconds for each step', integerIn(1, 600_000), 10_000)
    .option('--show-text', 'show the texts of the chunks')
    .option('--show-metadata', 'show the metadata of the chunks')
    .option('--json', 'one JSON object a query')
    .addHelpText('after', HELP)
    .action(async (query: string | undefined, flags: SearchFlags) => {
      process.exitCode = await (await import('./search/run.ts')).runSearch(query, flags, env);
    });
}
