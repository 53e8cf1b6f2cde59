/** The options of build-model-repos, and which of them exclude each other. */
import { Command, InvalidArgumentError, Option } from 'commander';
import { ServingError } from '../../src/errors.ts';
import { integerIn } from '../../workers/tool/number-options.ts';
import { type Truncation, truncations } from '../export-tokenizer/row-nodes.ts';
import { type Runtime, runtimes, type Shape } from '../model-config/encoder-config.ts';
import { type ProfileName, pools } from '../pools.ts';
import type { BuildOptions } from './build.ts';

export type Flags = {
  readonly check?: string;
  readonly runtime: Runtime;
  readonly outputDir?: string;
  readonly pool: ProfileName | 'all';
  readonly encoder?: string;
  readonly tokenizerDir?: string;
  readonly golden?: string;
  readonly tokenizerBackend?: 'onnx' | 'python';
  readonly truncation: Truncation;
  readonly maxTokens?: number;
  readonly servedFrom?: string;
  readonly device?: 'gpu' | 'cpu';
  readonly gpus: readonly number[];
  readonly instances: number;
  readonly cudaGraphs: readonly Shape[];
  readonly fingerprint?: string;
};

const HELP = `
Writes OUTPUT/REPOSITORY/MODEL/config.pbtxt, where REPOSITORY is ${Object.values(pools)
  .map(({ repository }) => repository)
  .join(', ')}.
With --encoder and --tokenizer-dir the models' files are laid beside them and the repository is checked before it appears; without,
configurations alone are written, as they are committed. The golden file of the export becomes OUTPUT/REPOSITORY/golden.json, with the
fingerprint of the repository: \`rag-serving models push\` and \`models check\` find it there.

Examples:
  node dist/scripts/build-model-repos/main.js --pool online_embed --encoder online.plan --tokenizer-dir ./bge-small-en \\
    --output-dir model-repos --served-from /models
  node dist/scripts/build-model-repos/main.js --check model-repos`;

export function buildCommand(run: (flags: Flags) => Promise<void>): Command {
  return new Command('build-model-repos')
    .description(
      "Triton's model repositories of the three pools: tokenizer, encoder, and the ensemble that clients call",
    )
    .option('--check <folder>', 'check a repository, or a folder of several, and write nothing')
    .addOption(new Option('--runtime <name>', 'what runs the encoder; python: a CPU').choices(runtimes).default('trt'))
    .option('--output-dir <folder>', 'folder of the repositories')
    .addOption(new Option('--pool <name>', 'which repository').choices([...Object.keys(pools), 'all']).default('all'))
    .option('--encoder <file>', "the encoder: build-trt-engine's .plan with its manifest, or export-onnx's .onnx")
    .option('--tokenizer-dir <folder>', 'what export-tokenizer wrote, or a folder with tokenizer.json')
    .option(
      '--golden <file>',
      "golden file of export-onnx; default: the encoder's name and .golden.json, if it is there",
    )
    .addOption(
      new Option('--tokenizer-backend <name>', 'of a tokenizer.json; default: as --runtime').choices([
        'onnx',
        'python',
      ]),
    )
    .addOption(new Option('--truncation <how>', 'how a pair is cut').choices(truncations).default('longest_first'))
    .option('--max-tokens <n>', "longest row; default: the engine's, else the pool's", integerIn(8, 8_192))
    .option('--served-from <folder>', "the pool's repository as Triton sees it, if it is elsewhere there")
    .addOption(
      new Option('--device <kind>', 'where the encoder runs; default: gpu, with --runtime python cpu').choices([
        'gpu',
        'cpu',
      ]),
    )
    .option('--gpus <list>', 'GPUs with an encoder, as 0,1; default: all', gpuList, [])
    .option('--instances <n>', 'encoders on a GPU, or on the CPU', integerIn(1, 64), 1)
    .option('--cuda-graphs <shapes>', 'with trt: shapes to capture, as 1x8,1x16', shapeList, [])
    .option('--fingerprint <text>', 'what is written with every vector; default: model, tokenizer, head, type, dims')
    .addHelpText('after', HELP)
    .showHelpAfterError('(--help shows the options)')
    .action(run);
}

/** One build for each pool. Throws ARGUMENT_INVALID. */
export function buildsOf(flags: Flags): BuildOptions[] {
  const { outputDir, encoder, tokenizerDir, runtime } = flags;
  if (outputDir === undefined) throw argument('--output-dir is missing (or --check)');
  if ((encoder === undefined) !== (tokenizerDir === undefined)) {
    throw argument('--encoder and --tokenizer-dir go together: ids of another vocabulary mean other words');
  }
  if (flags.golden !== undefined && encoder === undefined) throw argument('--golden belongs to an --encoder');
  const source = encoder && tokenizerDir ? { encoder, tokenizerDir } : undefined;
  if (source !== undefined && flags.pool === 'all')
    throw argument('--encoder belongs to one pool: name it with --pool');
  const device = flags.device ?? (runtime === 'python' ? 'cpu' : 'gpu');
  if (device === 'cpu' && runtime === 'trt')
    throw argument('--device cpu: TensorRT runs on a GPU; --runtime onnx or python');
  if (device === 'gpu' && runtime === 'python') throw argument('--device gpu: --runtime python is the form for a CPU');
  if (device === 'cpu' && flags.gpus.length > 0) throw argument('--gpus and --device cpu exclude each other');
  if (flags.cudaGraphs.length > 0 && runtime !== 'trt') throw argument('--cuda-graphs is of --runtime trt');
  const chosen = flags.pool === 'all' ? Object.values(pools) : [pools[flags.pool]];
  return chosen.map((pool) => {
    const beyond = flags.cudaGraphs.find(
      ({ batch, tokens }) => batch > pool.maxBatch || tokens > (flags.maxTokens ?? pool.maxTokens),
    );
    if (beyond !== undefined)
      throw argument(`--cuda-graphs ${beyond.batch}x${beyond.tokens} is beyond ${pool.profile}`);
    return {
      ...flags,
      ...{ pool, source, device },
      outputDir: `${outputDir.replace(/\/+$/, '')}/${pool.repository}`,
      tokenizerBackend: flags.tokenizerBackend ?? (runtime === 'python' ? 'python' : 'onnx'),
      servedFrom: flags.servedFrom ?? (source === undefined ? SERVED_FROM : undefined),
    };
  });
}

/** Where a container finds the repository of its pool, as the committed configurations have it. */
const SERVED_FROM = '/models';

function gpuList(text: string): number[] {
  return text.split(',').map(integerIn(0, 255));
}

function shapeList(text: string): Shape[] {
  return text.split(',').map((shape) => {
    const [, batch, tokens] = /^(\d{1,5})x(\d{1,5})$/.exec(shape) ?? [];
    if (Number(batch) > 0 && Number(tokens) > 0) return { batch: Number(batch), tokens: Number(tokens) };
    throw new InvalidArgumentError('Give rows x tokens, as 1x8,1x16.');
  });
}

function argument(message: string): ServingError {
  return new ServingError('ARGUMENT_INVALID', message);
}
