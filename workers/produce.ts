/** `rag-serving produce`: its options. What they start is loaded only when the command runs. */
import type { Command } from 'commander';
import type { Env } from '../src/config/env-reader.ts';
import { integerIn } from './tool/number-options.ts';

const HELP = `
Paths: .ndjson and .jsonl files hold one message a line: a chunk {"chunk_id","text",…}, a batch {"chunks":[…]}, or just
{"text":…}, which gets its ids from file and line. .md and .txt files, and folders of them at any depth, are cut into
chunks at ends of sentences; the document id is the path relative to --base, the chunk id is path#n. Globs in quotes
work too.

A line or document that the worker would reject is told with its place and not sent; the others go on. The first
Ctrl-C stops reading and waits for what is on its way; the second does not wait.

With --value-format each line is still JSON; it is sent by the schema of the subject (KAFKA_SCHEMA_SUBJECT, else
<topic>-value), with the schema's id before it. A line that the schema does not hold is told and not sent.

Exit codes: 0 all sent; 1 some were bad, or the broker did not take them; 2 wrong usage or settings; 3 interrupted.

Examples:
  rag-serving produce docs/ --bootstrap-servers localhost:9092 --partitions 6
  rag-serving produce chunks.ndjson --limit 1000 --json
  rag-serving produce 'docs/**/*.md' --dry-run
  rag-serving produce chunks.ndjson --value-format avro --schema chunk.avsc --schema-registry http://localhost:8081`;

export type ProduceFlags = {
  readonly topic?: string;
  readonly bootstrapServers?: string;
  readonly limit?: number;
  readonly chunkTokens: number;
  readonly partitions?: number;
  readonly base: string;
  readonly valueFormat?: string;
  readonly schema?: string;
  readonly schemaRegistry?: string;
  readonly dryRun?: true;
  readonly json?: true;
};

export function registerProduceCommand(program: Command, env: Env): void {
  program
    .command('produce')
    .description('send NDJSON chunks, or folders of .md and .txt cut into chunks, to the topic')
    .argument('<path...>', 'files, folders or quoted globs')
    .option('--topic <name>', 'topic to write to (default: KAFKA_TOPIC)')
    .option('--bootstrap-servers <list>', 'brokers as host:port,… (default: KAFKA_BOOTSTRAP_SERVERS)')
    .option('--partitions <n>', 'create the topic with so many partitions if it is not there', integerIn(1, 10_000))
    .option('--limit <n>', 'stop after about so many chunks', integerIn(1, Number.MAX_SAFE_INTEGER))
    .option('--chunk-tokens <n>', 'most estimated tokens in a chunk', integerIn(8, 8_192), 200)
    .option('--base <folder>', 'document ids are paths relative to this', '.')
    .option('--value-format <format>', 'json, avro, json-schema or protobuf (default: KAFKA_VALUE_FORMAT)')
    .option('--schema <file>', 'register this schema as the newest of the subject; without it the newest is used')
    .option('--schema-registry <urls>', 'where schemas are (default: KAFKA_SCHEMA_REGISTRY_URL)')
    .option('--dry-run', 'prepare and check everything, send nothing; needs no broker')
    .option('--json', 'print the summary as one JSON object')
    .addHelpText('after', HELP)
    .action(async (paths: readonly string[], flags: ProduceFlags) => {
      const { runProduce } = await import('./produce/command.ts');
      process.exitCode = await runProduce(paths, flags, env);
    });
}
