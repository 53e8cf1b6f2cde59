/** `rag-serving models push`: its options, and what it says at the end. */
import type { Command } from 'commander';
import type { Env } from '../../src/config/env-reader.ts';
import { ServingError } from '../../src/errors.ts';
import { exitCodes } from '../exit-codes.ts';
import { bytesText } from '../tool/bytes-text.ts';
import { printJson, REGISTRY_HELP, type SessionFlags, withRegistry } from './session.ts';

const HELP = `
A version never changes; its tags do. Files that the registry has are not sent again, an upload that was cut off goes on
where it stopped, and nothing can be pulled before all of it is there.

A folder with an engine (.plan, .engine) needs to say what it was built for: <engine>.manifest.json beside it, as
build-trt-engine writes it, or --gpu and --tensorrt.
${REGISTRY_HELP}

Exit codes: 0 published, or there already; 1 failed; 2 wrong usage, settings or folder; 3 interrupted.

Example:
  rag-serving models push model-repos/batch_ingestion/batch_embedder_trt batch_embedder_trt --tag latest --tag l4`;

type PushFlags = SessionFlags & {
  readonly tag?: readonly string[];
  readonly gpu?: string;
  readonly computeCapability?: string;
  readonly tensorrt?: string;
  readonly cuda?: string;
  readonly fingerprint?: string;
  readonly golden?: string;
  readonly sourceRevision?: string;
  readonly again?: true;
};

export function registerPush(models: Command, env: Env): void {
  models
    .command('push')
    .description('put a folder into the registry as a version of a model')
    .argument('<folder>', 'the files of the model')
    .argument('<model>', 'name, or name:version (default version: the beginning of its digest)')
    .option('--tag <tag>', 'tag to point at it, may be repeated (default: latest)', collect)
    .option('--gpu <name>', 'GPU that the engine was built for, as nvidia-smi names it')
    .option('--compute-capability <n.n>', 'its compute capability')
    .option('--tensorrt <version>', 'TensorRT that the engine was built with')
    .option('--cuda <version>', 'CUDA that the engine was built with')
    .option('--fingerprint <key=value,…>', 'fingerprint of the model (default: what the build wrote)')
    .option('--golden <path>', 'file of the folder with golden texts (default: golden.json)')
    .option('--source-revision <revision>', 'commit or revision that it was made from')
    .option('--again', 'send every file, also those that are there')
    .option('--registry <uri>', 'another registry than MODEL_REGISTRY_STORAGE_URI')
    .option('--quiet', 'no progress')
    .option('--json', 'print the result as one JSON object')
    .addHelpText('after', HELP)
    .action(async (folder: string, model: string, flags: PushFlags) => {
      const { push } = await import('../../src/registry/push.ts');
      process.exitCode = await withRegistry(env, flags, async (session) => {
        const [name = '', version, more] = model.split(':');
        if (more !== undefined)
          throw new ServingError('ARGUMENT_INVALID', 'a model is written as name or name:version');
        const { tag = ['latest'], again } = flags;
        const facts = { ...flags, fingerprint: fingerprintOf(flags.fingerprint) };
        const request = { folder, name, version, tags: tag, facts, again: again === true };
        const result = await push(request, { ...session, nowMs: Date.now }, session.signal);
        if (flags.json === true) printJson(result);
        else {
          const { sha256, files, totalBytes, sentBytes, tags, unchanged } = result;
          const done = unchanged ? 'there already' : `pushed, ${bytesText(sentBytes)} of ${bytesText(totalBytes)} sent`;
          process.stdout.write(
            `${name}:${result.version} ${done}; ${files} files, tags ${tags.join(', ')}, sha256:${sha256}\n`,
          );
        }
        return exitCodes.done;
      });
    });
}

function collect(value: string, before: readonly string[] = []): readonly string[] {
  return [...before, value];
}

function fingerprintOf(text: string | undefined): Readonly<Record<string, string>> | undefined {
  if (text === undefined) return undefined;
  const parts = text.split(',').map((part) => /^\s*([^=\s]+)\s*=(.*)$/.exec(part));
  if (parts.some((part) => part === null)) {
    throw new ServingError('ARGUMENT_INVALID', '--fingerprint is written as key=value,key=value');
  }
  return Object.fromEntries(parts.map((part) => [part![1]!, part![2]!.trim()]));
}
