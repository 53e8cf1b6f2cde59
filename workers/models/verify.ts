/** `rag-serving models verify`: a pulled folder, or a version in the registry. */
import type { Command } from 'commander';
import type { Env } from '../../src/config/env-reader.ts';
import { ServingError } from '../../src/errors.ts';
import { exitCodes } from '../exit-codes.ts';
import { printJson, REGISTRY_HELP, type SessionFlags, withRegistry } from './session.ts';

const HELP = `
Without --remote every file of the folder is read and compared with the note that the pull left, which needs no registry, or
with the manifest of --against. Files that are not of the model are told, and do no harm. With --remote every file of a
version is looked up in the registry: that it is there with its size, and with --deep that its content is right.
${REGISTRY_HELP}

Examples:
  rag-serving models verify /models/online_embedding
  rag-serving models verify online_embedding:latest --remote --deep

Exit codes: 0 all is as it should be; 1 something is not, or it failed; 2 wrong usage or settings; 3 interrupted.`;

type VerifyFlags = SessionFlags & {
  readonly remote?: true;
  readonly deep?: true;
  readonly against?: string;
};

export function registerVerify(models: Command, env: Env): void {
  models
    .command('verify')
    .description('check a pulled folder, or with --remote a version in the registry')
    .argument('<target>', 'the folder; with --remote the model, as for pull')
    .option('--remote', 'check the registry instead of a folder')
    .option('--deep', 'with --remote: read every byte')
    .option('--against <model>', 'compare the folder with this model of the registry')
    .option('--registry <uri>', 'another registry than MODEL_REGISTRY_STORAGE_URI')
    .option('--quiet', 'no progress')
    .option('--json', 'print the result as one JSON object')
    .addHelpText('after', HELP)
    .action(async (target: string, flags: VerifyFlags) => {
      if (flags.remote === true && flags.against !== undefined) {
        throw new ServingError('ARGUMENT_INVALID', '--against is for a folder; leave it out, or --remote');
      }
      if (flags.remote !== true && flags.deep === true) {
        throw new ServingError('ARGUMENT_INVALID', '--deep is for --remote; a folder is always read as a whole');
      }
      const { verifyFolder, verifyRemote } = await import('../../src/registry/verify.ts');
      process.exitCode = await withRegistry(env, flags, async (session) => {
        const { storage, watcher, signal, concurrency } = session;
        if (flags.remote === true) {
          const options = { deep: flags.deep === true, concurrency, watcher };
          const { stored, findings } = await verifyRemote(storage, target, options, signal);
          const lines = findings.map(
            ({ sha256, paths, problem }) => `${problem}: ${paths.join(', ')} (sha256:${sha256})`,
          );
          return report(stored, findings, lines, findings.length, flags);
        }
        const against = flags.against === undefined ? undefined : { storage, reference: flags.against };
        const { stored, findings } = await verifyFolder(target, against, watcher, signal);
        const wrong = findings.filter(({ problem }) => problem !== 'not of the model').length;
        return report(
          stored,
          findings,
          findings.map(({ path, problem }) => `${problem}: ${path}`),
          wrong,
          flags,
        );
      });
    });
}

function report(
  {
    manifest,
    sha256,
  }: {
    readonly manifest: { readonly name: string; readonly version: string; readonly files: readonly unknown[] };
    readonly sha256: string;
  },
  findings: readonly unknown[],
  lines: readonly string[],
  wrong: number,
  { json }: VerifyFlags,
) {
  const { name, version, files } = manifest;
  if (json === true) printJson({ name, version, sha256, files: files.length, wrong, findings });
  else {
    for (const line of lines) process.stdout.write(`${line}\n`);
    const verdict = wrong === 0 ? 'all is as it should be' : `${wrong} wrong`;
    process.stdout.write(`${name}:${version}: ${files.length} files, ${verdict}, sha256:${sha256}\n`);
  }
  return wrong === 0 ? exitCodes.done : exitCodes.failed;
}
