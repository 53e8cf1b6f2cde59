/** `rag-serving ingest`: its options. What they start is loaded only when the command runs. */
import { availableParallelism } from 'node:os';
import { type Command, Option } from 'commander';
import type { Env } from '../src/config/env-reader.ts';
import { integerIn } from './tool/number-options.ts';

const HELP = `
Paths: .ndjson and .jsonl (a message a line, as for produce), .csv and .tsv (the first line names the columns), each also
as .gz or .zst; .parquet; .md and .txt, cut into chunks as produce cuts them; folders of all these at any depth; globs in
quotes; - for standard input. A chunk without an id gets one from its file and line.

Settings are those of the worker (see .env.example), without the broker's: RAG_SERVING_SINK says where vectors go (LanceDB
in ./data/lancedb unless it is set), RAG_SERVING_BATCH_INGEST_GRPC_URL where the model server is. Where that is unset and
nothing answers at the default address, a small model is served inside this process (--engine).

A checkpoint in the state folder says what is done. Killed or interrupted, the same command goes on where it was and repeats
no more than what was in flight; when all is done the checkpoint is removed. An outage of the model server or the store is
waited for. The first Ctrl-C finishes what is in flight, the second does not.

What cannot be read, embedded or stored is told with file, line and code, and never with its text; the others go on.

Exit codes: 0 all stored; 1 some were rejected, a file could not be read, or it failed; 2 wrong usage or settings;
3 interrupted: run it again to go on.

Examples:
  rag-serving ingest docs.ndjson
  rag-serving ingest docs/ more.csv.gz --text-column body --metadata-columns title,url --rejects rejects.ndjson
  rag-serving ingest 'export/*.parquet' --id-column id --dry-run
  zcat dump.gz | rag-serving ingest - --limit 1000 --json`;

export type IngestFlags = {
  readonly base: string;
  readonly state: string;
  readonly limit?: number;
  readonly chunkTokens: number;
  readonly idColumn?: string;
  readonly textColumn?: string;
  readonly documentColumn?: string;
  readonly tenantColumn?: string;
  readonly versionColumn?: string;
  readonly metadataColumns?: string;
  readonly format: 'ndjson' | 'csv';
  readonly rejects?: string;
  readonly engine: 'auto' | 'embedded' | 'remote';
  readonly modelDir?: string;
  readonly threads: number;
  readonly restart?: true;
  readonly dryRun?: true;
  readonly json?: true;
};

export function registerIngestCommand(program: Command, env: Env): void {
  program
    .command('ingest')
    .description('put files (NDJSON, CSV, Parquet, text) into the store without Kafka')
    .argument('<path...>', 'files, folders, quoted globs, or - for standard input')
    .option('--id-column <name>', 'column or field of the chunk id (default: chunk_id)')
    .option('--text-column <name>', 'column or field of the text (default: text)')
    .option('--document-column <name>', 'column or field of the document id (default: document_id)')
    .option('--tenant-column <name>', 'column or field of the tenant (default: tenant_id)')
    .option('--version-column <name>', 'column or field of the version (default: version)')
    .option(
      '--metadata-columns <list>',
      'columns or fields that become metadata, with commas between; * for all others',
    )
    .addOption(new Option('--format <name>', 'of standard input').choices(['ndjson', 'csv']).default('ndjson'))
    .option('--chunk-tokens <n>', 'most estimated tokens in a chunk of a text file', integerIn(8, 8_192), 200)
    .option('--base <folder>', 'document ids of text files are paths relative to this', '.')
    .option('--limit <n>', 'stop after about so many chunks', integerIn(1, Number.MAX_SAFE_INTEGER))
    .option('--rejects <file>', 'write what was rejected into this file, as NDJSON: file, line, code, reason')
    .option('--state <folder>', 'where the checkpoint is kept', './data/ingest')
    .option('--restart', 'forget the checkpoint and begin again')
    .addOption(
      new Option('--engine <which>', 'model server: the one of the settings, one inside this process, or as it comes')
        .choices(['auto', 'embedded', 'remote'])
        .default('auto'),
    )
    .option('--model-dir <folder>', 'of the engine inside: folder with model.onnx and tokenizer.json')
    .option(
      '--threads <n>',
      'of the engine inside: CPU threads of the model',
      integerIn(1, 256),
      availableParallelism(),
    )
    .option('--dry-run', 'read and check everything, write nothing; needs no model server and no store')
    .option('--json', 'print the summary as one JSON object')
    .addHelpText('after', HELP)
    .action(async (paths: readonly string[], flags: IngestFlags) => {
      const { runIngest } = await import('./ingest/command.ts');
      process.exitCode = await runIngest(paths, flags, env, program.version() ?? 'unknown');
    });
}
