/** `rag-serving models check`: its options. What they start is loaded only when the command runs. */
import type { Command } from 'commander';
import type { Env } from '../../src/config/env-reader.ts';
import { integerIn, numberIn } from '../tool/number-options.ts';
import { addModelCallOptions, CALL_HELP, type ModelCallFlags } from './model-call.ts';

const HELP = `
The golden file holds texts and what the model is to say of them; \`make export-onnx\` writes one beside the model, and
\`rag-serving models golden\` takes one from a live model. Every text is asked for in a batch with all others and alone. A
row differs by its cosine, its length, NaN or Infinity; a score by its value and by the order within a query; the model by its
fingerprint, dimensions and type. Texts are never shown without --show-text.
${CALL_HELP}

Exit codes, for rollouts and probes:
  0  equal: each text was seen alone and in a batch, and is within the bounds
  1  could not be checked: unreachable, not ready, too many failed calls, interrupted, out of time; may be tried again
  2  wrong usage, settings or golden file
  3  differs, or is slower than --max-p99-ms: do not roll out

Examples:
  rag-serving models check --url triton:8001 --model online_embedder_ensemble --golden embedder.onnx.golden.json
  rag-serving models check --model batch_embedder_ensemble --golden ./pulled --wait 5m --repeat 20 --max-p99-ms 50 --json`;

export type CheckFlags = ModelCallFlags & {
  readonly golden: string;
  readonly repeat: number;
  readonly minCosine?: number;
  readonly maxLengthError?: number;
  readonly maxScoreError?: number;
  readonly fingerprint?: string;
  readonly maxP99Ms?: number;
  readonly maxErrorRate: number;
  readonly showText?: true;
  readonly json?: true;
};

export function registerCheckCommand(models: Command, env: Env): void {
  const command = models
    .command('check')
    .description('ask a live model for golden texts, and compare with what it must say of them')
    .requiredOption('--golden <file|folder>', 'golden file, or a folder with one');
  addModelCallOptions(command)
    .option('--repeat <n>', 'ask for everything so many times', integerIn(1, 10_000), 1)
    .option('--min-cosine <x>', 'default: 0.9995 in FP16, 0.99999 in FP32', numberIn(0, 1))
    .option('--max-length-error <x>', 'part of the length; default: 0.01 in FP16, 0.0001 in FP32', numberIn(0, 10))
    .option('--max-score-error <x>', 'of a reranker; default: 0.01 in FP16, 0.0001 in FP32', numberIn(0, 1e6))
    .option('--fingerprint <text>', 'the fingerprint that is expected (default: the one in the golden file)')
    .option('--max-p99-ms <ms>', 'most milliseconds at P99 for a single row', numberIn(0, 1e6))
    .option('--max-error-rate <x>', 'part of the calls that may fail', numberIn(0, 1), 0)
    .option('--show-text', 'show the beginning of each text in the table')
    .option('--json', 'print the report as one JSON object')
    .addHelpText('after', HELP)
    .action(async (flags: CheckFlags) => {
      const { runCheck } = await import('./run-check.ts');
      process.exitCode = await runCheck(flags, env);
    });
}
