/** `rag-serving models gc`: what no version needs, shown or removed. */
import type { Command } from 'commander';
import type { Env } from '../../src/config/env-reader.ts';
import { exitCodes } from '../exit-codes.ts';
import { bytesText } from '../tool/bytes-text.ts';
import { printJson, REGISTRY_HELP, type SessionFlags, withRegistry } from './session.ts';

const HELP = `
Blobs that no version names, and uploads that were never ended: both are what cut-off pushes leave. Younger ones than --grace
stay, for a push may be on its way; one that publishes just now is safe. Without --delete nothing is removed. A version that
is not wanted any more is removed by removing its object models/NAME/versions/VERSION.json; its blobs go with the next run.
${REGISTRY_HELP}

Examples:
  rag-serving models gc
  rag-serving models gc --grace 7d --delete

Exit codes: 0 done; 1 failed; 2 wrong usage or settings; 3 the time or a signal ended it, run it again.`;

type GcFlags = SessionFlags & { readonly grace: string; readonly delete?: true };

export function registerGc(models: Command, env: Env): void {
  models
    .command('gc')
    .description('show, or with --delete remove, what no version needs')
    .option('--grace <time>', 'keep what is younger, such as 90m, 24h, 7d', '24h')
    .option('--delete', 'remove it; without this it is only shown')
    .option('--registry <uri>', 'another registry than MODEL_REGISTRY_STORAGE_URI')
    .option('--json', 'print the result as one JSON object')
    .addHelpText('after', HELP)
    .action(async (flags: GcFlags) => {
      const { collectGarbage, parseDuration } = await import('../../src/registry/gc.ts');
      const graceMs = parseDuration(flags.grace);
      process.exitCode = await withRegistry(
        env,
        { ...flags, quiet: true },
        async ({ storage, concurrency, signal }) => {
          const request = { graceMs, remove: flags.delete === true, concurrency, nowMs: Date.now };
          const result = await collectGarbage(storage, request, signal);
          const { removed, versions, blobs, uploads, bytes, partial } = result;
          if (flags.json === true) printJson(result);
          else {
            for (const { key, sizeBytes } of blobs) process.stdout.write(`${key} ${bytesText(sizeBytes)}\n`);
            for (const { key } of uploads) process.stdout.write(`${key} (unfinished upload)\n`);
            process.stdout.write(
              `${removed ? 'removed' : 'would remove'} ${blobs.length} blobs (${bytesText(bytes)}) and ${uploads.length} unfinished uploads; ${versions} versions stay${removed ? '' : '; --delete removes them'}\n`,
            );
          }
          return partial ? exitCodes.unfinished : exitCodes.done;
        },
      );
    });
}
