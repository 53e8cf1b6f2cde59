/** The options of an engine build, checked. Nothing is done here. */
import { Command, Option } from 'commander';
import { integerIn } from '../../workers/tool/number-options.ts';
import { type ProfileName, pools } from '../pools.ts';
import type { Precision } from './trtexec-command.ts';

const positive = integerIn(1, 999_999_999);
const whole = integerIn(0, 999_999_999);
const level = integerIn(0, 5);

export type BuildOptions = {
  readonly profile: ProfileName;
  readonly onnxPath: string;
  readonly outputEnginePath: string;
  readonly maxBatch?: number;
  readonly maxTokens?: number;
  readonly precision: Precision;
  /** MiB; undefined for what the VRAM settings leave. */
  readonly workspace?: number;
  /** A path, undefined for the usual one, false for none. */
  readonly timingCache?: string | false;
  readonly optimizationLevel: number;
  readonly device: number;
  readonly trtexec?: string;
  readonly trialTokens: number;
  readonly threads: number;
  readonly dryRun?: true;
};

const HELP = `
The model is one that export-onnx wrote. It is checked first: inputs, output, length, precision, and a run at the corners of the
profile on this CPU. FILE.manifest.json beside the engine tells what it was built from, with and for. With --dry-run the command is
printed, FILE.plan.json written, and nothing built; that needs neither trtexec nor a GPU.

Environment: RAG_SERVING_MAX_STATIC_VRAM_BYTES, RAG_SERVING_VRAM_CAPACITY_BYTES. Exit codes: 0 done; 1 failed; 2 wrong usage;
3 the model was refused. Without Node: scripts/build-trt-engine.sh, which gives the same command but does not look into the graph.`;

export function buildCommand(run: (options: BuildOptions) => Promise<void>): Command {
  return new Command('build-trt-engine')
    .description('From an exported ONNX model to a TensorRT engine for one of the pools, through trtexec.')
    .addOption(new Option('--profile <name>', 'the pool').choices(Object.keys(pools)).makeOptionMandatory())
    .requiredOption('--onnx-path <file>', 'the model, as export-onnx wrote it')
    .requiredOption('--output-engine-path <file>', 'the engine to write, such as 1/model.plan')
    .option('--max-batch <rows>', "rows of the largest request (default: the pool's)", positive)
    .option('--max-tokens <n>', "tokens of the longest row (default: the pool's)", positive)
    .addOption(new Option('--precision <kind>', 'what the graph computes in').choices(['fp16', 'fp32']).default('fp16'))
    .option('--workspace <mib>', 'GPU memory for scratch space, in MiB (default: from the VRAM settings)', positive)
    .option(
      '--timing-cache <file>',
      'kernel timings, kept for the next build (default: trt-timing.cache beside the engine)',
    )
    .option('--no-timing-cache', 'keep no timings')
    .addOption(new Option('--optimization-level <0-5>', 'how long TensorRT searches').argParser(level).default(3))
    .option('--device <n>', 'which GPU', whole, 0)
    .option('--trtexec <path>', 'the program (default: from PATH, then where NVIDIA puts it)')
    .option('--trial-tokens <n>', 'largest trial on the CPU, in rows × tokens; 0 for no trial', whole, 16_384)
    .option('--threads <n>', 'threads of the trial', positive, 2)
    .option('--dry-run', 'check, print the command, write a plan manifest, build nothing')
    .addHelpText('after', HELP)
    .showHelpAfterError('(--help tells the options)')
    .action(run);
}
