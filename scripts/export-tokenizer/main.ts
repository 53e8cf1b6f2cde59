/** Command line of the tokenizer export. Progress goes to standard error, the manifest's path to standard output. */
import { Command, Option } from 'commander';
import { integerIn } from '../../workers/tool/number-options.ts';
import { runScript } from '../command/run-script.ts';
import { modelTypes } from '../model-config/tensor-contract.ts';
import { tokenizerBackends } from '../model-config/tokenizer-config.ts';
import { cacheRoot } from '../stack/cache.ts';
import { type ExportOptions, exportTokenizer } from './model-folder.ts';
import { operatorLibrary } from './op-library.ts';
import { truncations } from './row-nodes.ts';
import { findTokenizer } from './tokenizer-source.ts';

const HELP = `
Writes 1/model.onnx (or, with --backend python, 1/model.py and 1/tokenizer.json), config.pbtxt, the operator library with
its licence, and manifest.json. The folder's last part is the model's name. Existing output of this command is replaced.

A graph gives the same ids, masks and types as Hugging Face's Rust library. It follows BERT's WordPiece; a tokenizer
that it cannot follow exactly is refused by what is different, and --backend python serves it.

Of a hub only tokenizer.json is fetched; the commit is resolved once, printed and written into the manifest. Environment:
HF_TOKEN, HF_ENDPOINT, and RAG_SERVING_CACHE_DIR for where downloads are kept.

Examples:
  node dist/scripts/export-tokenizer/main.js --model-type embedding --model BAAI/bge-small-en-v1.5 \\
    --output-dir model-repos/online_embedding/text_tokenizer
  node dist/scripts/export-tokenizer/main.js --model-type reranker --model ./ms-marco-minilm --max-length 2048 \\
    --output-dir model-repos/online_reranker/pair_tokenizer --served-from /models/pair_tokenizer`;

type Flags = Omit<ExportOptions, 'library' | 'maxBatch' | 'maxTokens' | 'source'> & {
  readonly model: string;
  readonly revision: string;
  readonly maxLength: number;
  readonly maxBatch?: number;
};

const report = (line: string) => void process.stderr.write(`${line}\n`);

await runScript((signal) =>
  new Command('export-tokenizer')
    .description('a Hugging Face tokenizer as a model of Triton: text in, token ids out, inside the server')
    .addOption(new Option('--model-type <type>', 'what the tokens are for').choices(modelTypes).makeOptionMandatory())
    .requiredOption('--model <id|path>', 'owner/name on the hub, tokenizer.json, or a folder that holds it')
    .option('--revision <commit>', 'branch, tag or commit on the hub', 'main')
    .requiredOption('--output-dir <folder>', 'folder of the Triton model to write')
    .option(
      '--max-length <tokens>',
      'longest row with its special tokens; longer ones are cut',
      integerIn(8, 8_192),
      512,
    )
    .addOption(new Option('--truncation <how>', 'how a pair is cut').choices(truncations).default('longest_first'))
    .addOption(new Option('--backend <name>', 'what runs it in Triton').choices(tokenizerBackends).default('onnx'))
    .option('--max-batch <rows>', 'rows in a batch (default: 256, for a reranker 32)', integerIn(1, 4_096))
    .option('--served-from <folder>', 'the output folder as Triton sees it, if it is elsewhere there')
    .addHelpText('after', HELP)
    .showHelpAfterError('(--help shows the options)')
    .action(async ({ maxLength, maxBatch, model, revision, ...flags }: Flags) => {
      const surroundings = { env: process.env, cacheDir: cacheRoot(), stderr: process.stderr };
      const source = await findTokenizer({ model, revision }, surroundings, signal);
      await exportTokenizer(
        {
          ...flags,
          source,
          maxTokens: maxLength,
          maxBatch: maxBatch ?? (flags.modelType === 'embedding' ? 256 : 32),
          library: operatorLibrary,
        },
        report,
      );
      process.stdout.write(`${flags.outputDir.replace(/\/+$/, '')}/manifest.json\n`);
    }),
);
