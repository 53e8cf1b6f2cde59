/** `rag-serving models list`: a table, or JSON. */
import type { Command } from 'commander';
import type { Env } from '../../src/config/env-reader.ts';
import type { ListedVersion } from '../../src/registry/list.ts';
import { exitCodes } from '../exit-codes.ts';
import { bytesText } from '../tool/bytes-text.ts';
import { printJson, REGISTRY_HELP, type SessionFlags, withRegistry } from './session.ts';

const HELP = `${REGISTRY_HELP}

Examples:
  rag-serving models list
  rag-serving models list online_embedding --json

Exit codes: 0 done; 1 failed; 2 wrong usage or settings.`;

export function registerList(models: Command, env: Env): void {
  models
    .command('list')
    .description('show the versions of a model, or of all, with their tags')
    .argument('[name]', 'only this model')
    .option('--registry <uri>', 'another registry than MODEL_REGISTRY_STORAGE_URI')
    .option('--json', 'print a JSON array')
    .addHelpText('after', HELP)
    .action(async (name: string | undefined, flags: SessionFlags) => {
      const { listVersions } = await import('../../src/registry/list.ts');
      process.exitCode = await withRegistry(env, { ...flags, quiet: true }, async (session) => {
        const versions = await listVersions(session.storage, name, session.concurrency, session.signal);
        if (flags.json === true) printJson(versions);
        else process.stdout.write(versions.length === 0 ? 'no models\n' : tableOf(versions));
        return exitCodes.done;
      });
    });
}

const HEADINGS = ['MODEL', 'VERSION', 'TAGS', 'SIZE', 'KIND', 'GPU', 'TENSORRT', 'CREATED', 'DIGEST'] as const;

export function tableOf(versions: readonly ListedVersion[]): string {
  const rows = versions.map(({ name, version, tags, sizeBytes, kind, engine, createdAt, sha256 }) => [
    name,
    version,
    tags.join(',') || '-',
    bytesText(sizeBytes),
    kind,
    engine?.gpu ?? '-',
    engine?.tensorrt ?? '-',
    createdAt.slice(0, 16),
    sha256.slice(0, 12),
  ]);
  const widths = HEADINGS.map((heading, column) =>
    Math.max(heading.length, ...rows.map((row) => row[column]?.length ?? 0)),
  );
  const lineOf = (cells: readonly string[]) =>
    cells
      .map((cell, column) => cell.padEnd(widths[column] ?? 0))
      .join('  ')
      .trimEnd();
  return `${[HEADINGS, ...rows].map(lineOf).join('\n')}\n`;
}
