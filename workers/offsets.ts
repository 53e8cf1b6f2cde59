/** `rag-serving offsets`: its commands and their options. What they start is loaded only when one of them runs. */
import { type Command, InvalidArgumentError } from 'commander';
import type { Env } from '../src/config/env-reader.ts';
import { EXIT_CODES_HELP } from './exit-codes.ts';
import type { ResetFlags } from './offsets/reset.ts';
import type { ShowFlags } from './offsets/show.ts';
import { MOMENT_FORMS, momentOf } from './tool/moment.ts';
import { partitions } from './tool/number-options.ts';

const HELP = `
Settings are the worker's: brokers, SASL and TLS, KAFKA_TOPIC, KAFKA_CONSUMER_GROUP.

Examples:
  rag-serving offsets show
  rag-serving offsets reset --to-time 2h --dry-run
${EXIT_CODES_HELP}`;

const SHOW_HELP = `
Examples:
  rag-serving offsets show
  rag-serving offsets show --json
${EXIT_CODES_HELP}`;

const RESET_HELP = `
No worker may run: one that is in the group is refused, by its name. Records that are read again are embedded again and
replace what is stored, unless that is newer. Moving forward leaves records out for good, so it asks for --skip-unread.
A partition that stands there already is left alone.

Examples:
  rag-serving offsets reset --to-earliest --dry-run            what embedding everything again would mean
  rag-serving offsets reset --to-time 2026-03-01T09:30Z --yes
  rag-serving offsets reset --partition 3 --to-offset 120400
  rag-serving offsets reset --to-latest --skip-unread --yes
${EXIT_CODES_HELP}`;

/** Adds the `offsets` commands. `env` is the process's environment. */
export function registerOffsetsCommand(program: Command, env: Env): void {
  const offsets = program
    .command('offsets')
    .description('where the consumer group stands, and moving it')
    .addHelpText('after', HELP);

  offsets
    .command('show')
    .description('committed offsets, ends and lag of each partition')
    .option('--json', 'as one JSON object')
    .addHelpText('after', SHOW_HELP)
    .action(async (flags: ShowFlags) => {
      process.exitCode = await (await import('./offsets/show.ts')).runShow(flags, env);
    });

  offsets
    .command('reset')
    .description('move the group to other offsets, while no worker runs')
    .option('--to-earliest', 'to the oldest record that is there')
    .option('--to-latest', 'to the end: what is there now is never read')
    .option('--to-time <time>', `to the first record from then on: ${MOMENT_FORMS}`, momentOf(Date.now))
    .option('--to-offset <n>', 'to this offset of the one --partition', offset)
    .option('--partition <n>', 'only this partition; repeatable', partitions)
    .option('--skip-unread', 'leave out records that nobody has read')
    .option('--dry-run', 'say what would be moved, and do nothing')
    .option('--yes', 'do not ask')
    .option('--json', 'the summary as one JSON object')
    .addHelpText('after', RESET_HELP)
    .action(async (flags: ResetFlags) => {
      process.exitCode = await (await import('./offsets/reset.ts')).runReset(flags, env);
    });
}

function offset(text: string): bigint {
  if (/^\d{1,18}$/.test(text)) return BigInt(text);
  throw new InvalidArgumentError('Expected an offset, a whole number from 0.');
}
