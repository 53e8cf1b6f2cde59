/** `rag-serving models golden`: its options. What they start is loaded only when the command runs. */
import { type Command, Option } from 'commander';
import type { Env } from '../../src/config/env-reader.ts';
import { addModelCallOptions, CALL_HELP, type ModelCallFlags } from './model-call.ts';

const HELP = `
Each text is asked for alone. A file taken from a live model says so: a check against it shows that a model is unchanged,
not that it is right. \`make export-onnx\` writes one from the unmodified model.

Own texts are NDJSON, one object a line: {"text": …} for an embedder, {"query": …, "passage": …} for a reranker, each with
a "label" or without. The texts are stored in the golden file.
${CALL_HELP}

Exit codes: 0 written; 1 failed, nothing was written; 2 wrong usage, settings or texts.

Example:
  rag-serving models golden --url triton:8001 --model online_embedder_ensemble --output golden.json`;

export type GoldenFlags = ModelCallFlags & {
  readonly kind: 'embedder' | 'reranker';
  readonly texts?: string;
  readonly output: string;
};

export function registerGoldenCommand(models: Command, env: Env): void {
  const command = models
    .command('golden')
    .description('take golden vectors or scores from a live model, for checks to come')
    .requiredOption('--output <file>', 'the golden file to write')
    .addOption(new Option('--kind <kind>', 'what the model is').choices(['embedder', 'reranker']).default('embedder'))
    .option('--texts <file>', 'own texts (default: those of this package)');
  addModelCallOptions(command)
    .addHelpText('after', HELP)
    .action(async (flags: GoldenFlags) => {
      const { runGolden } = await import('./run-golden.ts');
      process.exitCode = await runGolden(flags, env);
    });
}
