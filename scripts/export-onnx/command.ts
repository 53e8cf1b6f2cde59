/** The options of the export, checked. Nothing is done here. */
import { Command, Option } from 'commander';
import { integerIn } from '../../workers/tool/number-options.ts';
import { type ModelType, modelTypes } from '../model-config/tensor-contract.ts';
import type { Pooling } from './graph/pooling.ts';

const positive = integerIn(1, 999_999_999);
const whole = integerIn(0, 999_999_999);

export type ExportOptions = {
  readonly modelType: ModelType;
  readonly model: string;
  readonly outputPath: string;
  readonly onnxFile?: string;
  readonly revision: string;
  readonly pooling?: Pooling;
  /** Undefined when neither --normalize nor --no-normalize was given. */
  readonly normalize?: boolean;
  readonly matryoshka?: number;
  readonly label?: number;
  readonly activation?: 'sigmoid' | 'none';
  readonly fp16?: true;
  readonly threads: number;
};

const ENVIRONMENT_HELP = `
The model's ONNX file comes from a folder or from a hub. Of a hub the commit is resolved once, printed and written into
the model; give it as --revision to have the same file again. Environment: HF_TOKEN, HF_ENDPOINT, and
RAG_SERVING_CACHE_DIR for where downloads are kept.

Before the model is written it is compared with the unmodified one on texts of 8 to 512 tokens, alone and in a batch of
64. FILE.parity.json tells the result. Exit codes: 0 written; 1 failed; 2 wrong usage; 3 refused by the comparison.`;

export function exportCommand(run: (options: ExportOptions) => Promise<void>): Command {
  return new Command('export-onnx')
    .description(
      'From an ONNX encoder to one that pools in the graph: EMBEDDING for an embedder, SCORE for a reranker.',
    )
    .addOption(new Option('--model-type <type>', 'what it is').choices(modelTypes).makeOptionMandatory())
    .requiredOption(
      '--model <id|dir>',
      'owner/name on the hub, or a folder with model.onnx, tokenizer.json, config.json',
    )
    .requiredOption('--output-path <file>', 'the ONNX file to write')
    .option('--onnx-file <path>', 'which ONNX file of the model (default: onnx/model.onnx, else model.onnx)')
    .option('--revision <commit>', 'branch, tag or commit on the hub', 'main')
    .addOption(new Option('--pooling <kind>', 'default: what the model says, else mean').choices(['mean', 'cls']))
    .option('--normalize', 'vectors of length 1 (the default)')
    .option('--no-normalize', 'vectors as they are pooled')
    .option('--matryoshka <dim>', 'keep the first dimensions only, cut before normalising', positive)
    .option('--label <index>', 'reranker: which label is the relevance, from 0', whole)
    .addOption(
      new Option('--activation <kind>', 'reranker: default is what the model says, else sigmoid for one label').choices(
        ['sigmoid', 'none'],
      ),
    )
    .option('--fp16', 'compute in FP16, but for softmax, LayerNorm and pooling; EMBEDDING is FP16')
    .option('--threads <n>', 'threads of the comparison', positive, 2)
    .addHelpText('after', ENVIRONMENT_HELP)
    .showHelpAfterError('(--help tells the options)')
    .action(run);
}
