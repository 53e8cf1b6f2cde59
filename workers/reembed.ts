/** `rag-serving reembed`: its commands and their options. What they start is loaded only when one of them runs. */
import { type Command, Option } from 'commander';
import type { Env } from '../src/config/env-reader.ts';
import { EXIT_CODES_HELP } from './exit-codes.ts';
import type { DropFlags } from './reembed/drop.ts';
import type { StartFlags } from './reembed/start.ts';
import type { StatusFlags } from './reembed/status.ts';
import type { RollbackFlags, SwitchFlags } from './reembed/switch.ts';
import type { VerifyFlags } from './reembed/verify.ts';
import { MOMENT_FORMS, momentOf } from './tool/moment.ts';
import { integerIn, numberIn } from './tool/number-options.ts';

const HELP = `
Another model needs another collection. start fills one beside the old one, switch turns what readers find under the old
name, rollback turns it back. Workers of the old model go on meanwhile, so both stay fresh.

Settings are the worker's. RAG_SERVING_SINK is one store; RAG_SERVING_LANCEDB_TABLE, RAG_SERVING_REDIS_KEY_PREFIX or
RAG_SERVING_PGVECTOR_TABLE stays the name that readers know. For start, RAG_SERVING_BATCH_INGEST_GRPC_URL is the new model's.

Examples:
  rag-serving reembed start --to chunks_v2 --from topic
  rag-serving reembed status
  rag-serving reembed verify --to chunks_v2
  rag-serving reembed switch --to chunks_v2 --dry-run
  rag-serving reembed rollback
${EXIT_CODES_HELP}`;

const START_HELP = `
--from topic reads the topic from its beginning (or --since), with a group of its own, <group>.reembed.<collection>.
--from store embeds the text that the old collection holds (RAG_SERVING_STORE_TEXT), then follows the topic from where the
old group stood when it began; without KAFKA_BOOTSTRAP_SERVERS it ends with the copy. The topic must keep its records for
longer than the copy takes. Chunks in the old group's retry queue are not seen: let it run empty first.

It logs as a worker does, goes on until it is stopped, and goes on where it was when it is started again. Its dead letters
have a topic of their own, <dead-letter topic>.<collection>.

Examples:
  rag-serving reembed start --to chunks_v2 --from topic --until-caught-up
  rag-serving reembed start --to rag:v2: --from store
${EXIT_CODES_HELP}`;

const SWITCH_HELP = `
Refused unless a reembed filled the collection, its fingerprint is another one, rows and a sample of them are there within
--tolerance, and its group's lag is at most --max-lag. Readers must embed their queries with the new model from then on.

Examples:
  rag-serving reembed switch --to chunks_v2 --dry-run
  rag-serving reembed switch --to chunks_v2 --tolerance 0 --max-lag 0 --yes
${EXIT_CODES_HELP}`;

const STATUS_HELP = `
Examples:
  rag-serving reembed status
  rag-serving reembed status --json
${EXIT_CODES_HELP}`;

const VERIFY_HELP = `
Examples:
  rag-serving reembed verify --to chunks_v2
  rag-serving reembed verify --to chunks_v2 --all --json
${EXIT_CODES_HELP}`;

const ROLLBACK_HELP = `
Examples:
  rag-serving reembed rollback --dry-run
  rag-serving reembed rollback --yes
${EXIT_CODES_HELP}`;

const DROP_HELP = `
Examples:
  rag-serving reembed drop --collection chunks_v1 --dry-run
  rag-serving reembed drop --collection chunks_v1 --yes
${EXIT_CODES_HELP}`;

const MAX_COUNT = 1_000_000_000;

/** Adds the `reembed` commands. `env` is the process's environment. */
export function registerReembedCommand(program: Command, env: Env): void {
  const reembed = program
    .command('reembed')
    .description('another model: fill a new collection, switch readers to it, roll back')
    .addHelpText('after', HELP);

  reembed
    .command('start')
    .description('fill a collection with the vectors of another model, and keep it fresh')
    .requiredOption('--to <collection>', 'the new table or key prefix')
    .addOption(
      new Option('--from <where>', 'where the text comes from').choices(['topic', 'store']).makeOptionMandatory(),
    )
    .option('--since <time>', `of the topic, only what came since: ${MOMENT_FORMS}`, momentOf(Date.now))
    .option('--until-caught-up', 'end when the topic is read to its end, instead of following it')
    .option('--same-model', 'also with the model that filled the old collection')
    .option('--ops-port <n>', 'port of health and metrics; 0 is any free one', integerIn(0, 65_535), 0)
    .addHelpText('after', START_HELP)
    .action(async (flags: StartFlags) => {
      process.exitCode = await (await import('./reembed/start.ts')).runStart(flags, env);
    });

  reembed
    .command('status')
    .description('the collections: rows, fingerprints, lag, and which one readers find')
    .option('--json', 'as one JSON object')
    .addHelpText('after', STATUS_HELP)
    .action(async (flags: StatusFlags) => {
      process.exitCode = await (await import('./reembed/status.ts')).runStatus(flags, env);
    });

  reembed
    .command('verify')
    .description('look for rows of the current collection in the new one; exit code 1 where some are missing')
    .requiredOption('--to <collection>', 'the new table or key prefix')
    .option('--sample <n>', 'so many rows', integerIn(1, MAX_COUNT), 10_000)
    .option('--all', 'every row')
    .option('--json', 'as one JSON object')
    .addHelpText('after', VERIFY_HELP)
    .action(async (flags: VerifyFlags) => {
      process.exitCode = await (await import('./reembed/verify.ts')).runVerify(flags, env);
    });

  reembed
    .command('switch')
    .description('let readers find the new collection under the name they know')
    .requiredOption('--to <collection>', 'the new table or key prefix')
    .option('--tolerance <share>', 'share of rows that may be missing', numberIn(0, 1), 0.01)
    .option('--max-lag <n>', 'records that may be unread', integerIn(0, MAX_COUNT), 1_000)
    .option('--sample <n>', 'rows that are compared', integerIn(1, MAX_COUNT), 1_000)
    .option('--force', 'switch although a check fails')
    .option('--dry-run', 'check, and do nothing')
    .option('--yes', 'do not ask')
    .option('--json', 'as one JSON object')
    .addHelpText('after', SWITCH_HELP)
    .action(async (flags: SwitchFlags) => {
      process.exitCode = await (await import('./reembed/switch.ts')).runSwitch(flags, env);
    });

  reembed
    .command('rollback')
    .description('let readers find what they found before the last switch')
    .option('--dry-run', 'say what would be switched, and do nothing')
    .option('--yes', 'do not ask')
    .option('--json', 'as one JSON object')
    .addHelpText('after', ROLLBACK_HELP)
    .action(async (flags: RollbackFlags) => {
      process.exitCode = await (await import('./reembed/switch.ts')).runRollback(flags, env);
    });

  reembed
    .command('drop')
    .description('delete a collection that nobody reads and nobody fills any more')
    .requiredOption('--collection <name>', 'the table or key prefix, as in status')
    .option('--dry-run', 'say what would be deleted, and do nothing')
    .option('--yes', 'do not ask')
    .option('--json', 'as one JSON object')
    .addHelpText('after', DROP_HELP)
    .action(async (flags: DropFlags) => {
      process.exitCode = await (await import('./reembed/drop.ts')).runDrop(flags, env);
    });
}
