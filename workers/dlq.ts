/** `rag-serving dlq`: its commands and their options. What they start is loaded only when one of them runs. */
import { type Command, InvalidArgumentError } from 'commander';
import type { Env } from '../src/config/env-reader.ts';
import type { ListFlags } from './dlq/list.ts';
import type { PurgeCommandFlags } from './dlq/purge.ts';
import type { ReplayFlags } from './dlq/replay.ts';
import type { LetterPlace, ShowFlags } from './dlq/show.ts';
import type { StatsFlags } from './dlq/stats.ts';
import { EXIT_CODES_HELP } from './exit-codes.ts';
import { addFilterOptions } from './letters/filter-options.ts';
import { integerIn } from './tool/number-options.ts';

const HELP = `
Settings are the worker's: brokers, SASL and TLS, KAFKA_TOPIC, KAFKA_CONSUMER_GROUP, RAG_SERVING_DEAD_LETTER_TOPIC.
Each command looks at the topic as it is when it begins. No text of a chunk is printed unless show is told --show-text.

Examples:
  rag-serving dlq stats
  rag-serving dlq list --since 2h --code CHUNK_INVALID,CHUNK_BLANK
  rag-serving dlq show 0:17
  rag-serving dlq replay --code INFERENCE_REJECTED --rate 50 --dry-run
  rag-serving dlq purge --replayed --yes
${EXIT_CODES_HELP}`;

const LIST_HELP = `
Examples:
  rag-serving dlq list --pending                  what has not been replayed
  rag-serving dlq list --document doc-7 --json    one JSON object a line
${EXIT_CODES_HELP}`;

const STATS_HELP = `
Examples:
  rag-serving dlq stats --since 24h
  rag-serving dlq stats --pending --json
${EXIT_CODES_HELP}`;

const SHOW_HELP = `
The letter is named as list names it. Key, value and the producer's headers are told by their size and shape.

Examples:
  rag-serving dlq show 0:17
  rag-serving dlq show 0:17 --show-text --json
${EXIT_CODES_HELP}`;

const REPLAY_HELP = `
Each letter goes to the topic and partition that it came from, once: a letter that was replayed is left out by every
later run, also after a kill in the middle. Of a batch message only the chunk that failed is sent. Where the worker stores
them, they count as old as they first were, so they replace nothing newer and bring back nothing that was deleted.
Letters that cannot be replayed are told by number and make the exit code 1.

Examples:
  rag-serving dlq replay --since 2026-03-01 --until 2026-03-02 --dry-run
  rag-serving dlq replay --code SINK_ROW_REFUSED --rate 20 --yes
  rag-serving dlq replay --chunk doc-7#3 --to-topic rag.ingestion.repair
${EXIT_CODES_HELP}`;

const PURGE_HELP = `
Kafka deletes only from the beginning of a partition. So --until stops at the first letter that is newer, --replayed at the
first that was not replayed, and --code, --since, --chunk and --document are refused.

Examples:
  rag-serving dlq purge --replayed --dry-run
  rag-serving dlq purge --until 30d --yes
  rag-serving dlq purge --partition 0 --offset ..1200
${EXIT_CODES_HELP}`;

const MAX_COUNT = 1_000_000_000;

/** Adds the `dlq` commands. `env` is the process's environment. */
export function registerDlqCommand(program: Command, env: Env): void {
  const dlq = program
    .command('dlq')
    .description('dead letters: list, show, count, replay and purge them')
    .addHelpText('after', HELP);
  const filtered = (command: Command) => addFilterOptions(command, 'letters', 'the dead-letter topic', Date.now);
  const stated = (command: Command) =>
    filtered(command)
      .option('--pending', 'only letters that were not replayed')
      .option('--replayed', 'only letters that were replayed');

  stated(dlq.command('list').description('the letters, oldest first in each partition'))
    .option('--limit <n>', 'at most so many (default: 100; all with --json)', integerIn(1, MAX_COUNT))
    .option('--json', 'one JSON object a line')
    .addHelpText('after', LIST_HELP)
    .action(async (flags: ListFlags) => {
      process.exitCode = await (await import('./dlq/list.ts')).runList(flags, env);
    });

  dlq
    .command('show')
    .description('one letter, with its headers')
    .argument('<partition:offset>', 'where it lies, as in the first column of list', letterPlace)
    .option('--show-text', 'print key, value and all headers as they are')
    .option('--json', 'as one JSON object')
    .addHelpText('after', SHOW_HELP)
    .action(async (place: LetterPlace, flags: ShowFlags) => {
      process.exitCode = await (await import('./dlq/show.ts')).runShow(place, flags, env);
    });

  stated(dlq.command('stats').description('how many, by code, stage, age, partition, origin and replays'))
    .option('--json', 'as one JSON object')
    .addHelpText('after', STATS_HELP)
    .action(async (flags: StatsFlags) => {
      process.exitCode = await (await import('./dlq/stats.ts')).runStats(flags, env);
    });

  filtered(dlq.command('replay').description('send letters back to be embedded and stored, each exactly once'))
    .option('--to-topic <name>', 'send them there, not to the topic each came from', topicName)
    .option('--rate <n>', 'at most so many a second', integerIn(1, 1_000_000))
    .option('--limit <n>', 'at most so many', integerIn(1, MAX_COUNT))
    .option('--max-replays <n>', 'leave letters that have been replayed so often', integerIn(1, 1_000_000), 3)
    .option('--dry-run', 'say what would be replayed, and do nothing')
    .option('--yes', 'do not ask')
    .option('--json', 'the summary as one JSON object; with --dry-run also one for each letter')
    .addHelpText('after', REPLAY_HELP)
    .action(async (flags: ReplayFlags) => {
      process.exitCode = await (await import('./dlq/replay.ts')).runReplay(flags, env);
    });

  filtered(dlq.command('purge').description('delete the beginning of the dead-letter topic'))
    .option('--replayed', 'as long as letters were replayed')
    .option('--all', 'everything that is there now')
    .option('--dry-run', 'say what would be deleted, and do nothing')
    .option('--yes', 'do not ask')
    .option('--json', 'the summary as one JSON object')
    .addHelpText('after', PURGE_HELP)
    .action(async (flags: PurgeCommandFlags) => {
      process.exitCode = await (await import('./dlq/purge.ts')).runPurge(flags, env);
    });
}

function letterPlace(text: string): LetterPlace {
  const found = /^(\d{1,9})[:/](\d{1,18})$/.exec(text);
  if (found === null) throw new InvalidArgumentError('Give partition and offset, such as 0:17.');
  return { partition: Number(found[1]), offset: BigInt(found[2] ?? '') };
}

function topicName(text: string): string {
  if (/^(?!\.{1,2}$)[A-Za-z0-9._-]{1,249}$/.test(text)) return text;
  throw new InvalidArgumentError('Give a topic name: 1–249 letters, digits, dots, hyphens or underscores.');
}
