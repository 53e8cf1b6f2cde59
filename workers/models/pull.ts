/** `rag-serving models pull`: its options, and what it says at the end. */
import type { Command } from 'commander';
import type { Env } from '../../src/config/env-reader.ts';
import { exitCodes } from '../exit-codes.ts';
import { bytesText } from '../tool/bytes-text.ts';
import { printJson, REGISTRY_HELP, type SessionFlags, withRegistry } from './session.ts';

const HELP = `
The folder is made whole beside its place (.<name>.rag-pull), every file's SHA-256 is checked, and then it takes the place
of what was there. What has arrived is kept after a failure, and the next pull goes on. A folder that holds the version
already is left alone. Two pulls of one folder wait for each other.

An engine for another GPU, compute capability or TensorRT than this machine's is refused. These are asked of nvidia-smi
and libnvinfer; where there are none, as in an init container without the GPU, say them with --gpu and --tensorrt.
${REGISTRY_HELP}

Exit codes: 0 the folder holds the model; 1 failed, or refused; 2 wrong usage or settings; 3 interrupted.

Examples:
  rag-serving models pull batch_embedder_trt:l4 /models/batch_embedder_trt
  rag-serving models pull batch_embedder_trt@sha256:3f9c2a10b7de /models/batch_embedder_trt --gpu "NVIDIA L4" --tensorrt 10.3.0`;

type PullFlags = SessionFlags & {
  readonly gpu?: string;
  readonly computeCapability?: string;
  readonly tensorrt?: string;
  readonly allowMismatch?: true;
  readonly replace?: true;
};

export function registerPull(models: Command, env: Env): void {
  models
    .command('pull')
    .description('get a version of a model into a folder')
    .argument('<model>', 'name, name:tag, name:version or name@sha256:digest (default tag: latest)')
    .argument('<folder>', 'where it goes; replaced as a whole')
    .option('--gpu <name>', "this machine's GPU, instead of asking nvidia-smi")
    .option('--compute-capability <n.n>', 'its compute capability')
    .option('--tensorrt <version>', "this machine's TensorRT, instead of looking for its library")
    .option('--allow-mismatch', 'take an engine that was built for another machine')
    .option('--replace', 'replace a folder that no pull wrote; its files are lost')
    .option('--registry <uri>', 'another registry than MODEL_REGISTRY_STORAGE_URI')
    .option('--quiet', 'no progress')
    .option('--json', 'print the result as one JSON object')
    .addHelpText('after', HELP)
    .action(async (reference: string, folder: string, flags: PullFlags) => {
      const [{ pull }, { thisMachine }] = await Promise.all([
        import('../../src/registry/pull.ts'),
        import('./this-machine.ts'),
      ]);
      process.exitCode = await withRegistry(env, flags, async (session) => {
        const request = {
          reference,
          folder,
          machine: () => thisMachine(flags, env),
          allowMismatch: flags.allowMismatch === true,
          replace: flags.replace === true,
        };
        const result = await pull(request, session, session.signal);
        if (flags.json === true) printJson(result);
        else {
          const { name, version, files, totalBytes, sha256, unchanged } = result;
          const done = unchanged ? 'is there already, intact' : 'pulled';
          process.stdout.write(
            `${name}:${version} ${done}: ${result.folder}, ${files} files, ${bytesText(totalBytes)}, sha256:${sha256}\n`,
          );
        }
        return exitCodes.done;
      });
    });
}
