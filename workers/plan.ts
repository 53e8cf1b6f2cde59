/** `rag-serving plan`: its options. What they start is loaded only when it runs. */
import { type Command, InvalidArgumentError, Option } from 'commander';
import type { Env } from '../src/config/env-reader.ts';
import { EXIT_CODES_HELP } from './exit-codes.ts';
import type { PlanFlags } from './plan/run.ts';
import { gpus, planSinks } from './plan/workload.ts';
import { duration } from './tool/moment.ts';
import { integerIn, numberIn } from './tool/number-options.ts';

const HELP = `
It connects to nothing. The worker's settings count as they are in this environment: RAG_SERVING_SHM_SLOTS,
RAG_SERVING_SHM_SLOT_INPUT_BYTES, RAG_SERVING_MAX_BATCH_SIZE, RAG_SERVING_MAX_IN_FLIGHT_BYTES, RAG_SERVING_STORE_TEXT and
the GPU budget. Without --gpu-rate the rate of a GPU is the design's figure for a small model, and the plan says so.

Examples:
  rag-serving plan --chunks 5000000 --rate 400
  rag-serving plan --chunks 80e6 --within 12h --gpu a10g --gpu-rate 1900 --dims 768 --model-parameters 110e6
  rag-serving plan --rate 40000 --sink pgvector --pod-hour-price 0.81 --json
${EXIT_CODES_HELP}`;

/** Adds the `plan` command. `env` is the process's environment. */
export function registerPlanCommand(program: Command, env: Env): void {
  program
    .command('plan')
    .description('pods, partitions, memory, Kafka and store for a workload, with the arithmetic')
    .option('--chunks <n>', 'chunks that wait to be embedded (80e6 is understood)', amount)
    .option('--rate <n>', 'new chunks a second, at the peak', amount)
    .option('--within <duration>', 'the waiting ones must be done by then: 90m, 12h, 3d', duration, 86_400_000)
    .addOption(new Option('--gpu <name>', 'GPU of a pod').choices(gpus).default('l4'))
    .option('--gpu-rate <n>', 'chunks a second that one GPU does with your model and texts', numberIn(1, 1e6))
    .option(
      '--headroom <share>',
      'share of the rate kept free: evictions, rebalances, long texts',
      numberIn(0, 0.9),
      0.2,
    )
    .option('--text-bytes <n>', 'bytes of a text, on average', integerIn(1, 16_777_216), 700)
    .option('--chunks-per-message <n>', 'chunks in one message, on average', numberIn(1, 10_000), 1)
    .option('--dims <n>', 'dimensions of a vector', integerIn(1, 65_536), 384)
    .addOption(new Option('--dtype <type>', 'elements of a vector').choices(['FP16', 'FP32']).default('FP16'))
    .option('--model-parameters <n>', 'parameters of the model', amount, 22.7e6)
    .option('--retention <duration>', 'how long the topic keeps a record', duration, 604_800_000)
    .option('--replication <n>', 'replicas of the topic', integerIn(1, 10), 3)
    .addOption(new Option('--sink <name>', 'store').choices(planSinks).default('redis'))
    .option('--pod-hour-price <amount>', 'price of a pod and its machine for an hour', numberIn(0, 1e6))
    .option('--json', 'as one JSON object')
    .addHelpText('after', HELP)
    .action(async (flags: PlanFlags) => {
      process.exitCode = (await import('./plan/run.ts')).runPlan(flags, env);
    });
}

function amount(text: string): number {
  const value = Number(text);
  if (/^\d+(\.\d+)?(e\d{1,2})?$/i.test(text) && value <= 1e12) return value;
  throw new InvalidArgumentError('Expected a number from 0 to 1e12, as 400 or 80e6.');
}
