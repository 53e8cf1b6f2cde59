/**
 * The one command line. A command's module is loaded only when it is the one that was asked for, so that `--help` is
 * instant and `produce` needs no ONNX runtime.
 */
import { Command, CommanderError } from 'commander';
import type { Env } from '../src/config/env-reader.ts';
import { EXIT_CODES_HELP, exitCodeOf, exitCodes } from './exit-codes.ts';
import { printError } from './print-error.ts';

const HELP = `
Settings are environment variables: see .env.example.

Examples:
  rag-serving ingest docs/                 files into a store, without any server
  rag-serving help dlq                     the commands of a group
  source <(rag-serving completion bash)    completion in this shell
${EXIT_CODES_HELP}`;

type Register = (program: Command, env: Env) => void;
type CommandEntry = { readonly name: string; readonly summary: string; load(): Promise<Register> };

/** In the order of the help. */
export const commands: readonly CommandEntry[] = [
  {
    name: 'doctor',
    summary: 'check all that an installation needs, and say what to do about what fails',
    load: async () => (await import('./doctor.ts')).registerDoctorCommand,
  },
  {
    name: 'worker',
    summary: 'read chunks from Kafka, embed them, store the vectors, then commit',
    load: async () => (await import('./worker.ts')).registerWorkerCommand,
  },
  {
    name: 'ops',
    summary: 'sidecar of a Triton: liveness, readiness, GPU memory, metrics and their documentation over HTTP',
    load: async () => (await import('./ops.ts')).registerOpsCommand,
  },
  {
    name: 'engine',
    summary: 'serve a small model over KServe v2 gRPC with shared memory, for machines without Triton',
    load: async () => (await import('./engine.ts')).registerEngineCommand,
  },
  {
    name: 'produce',
    summary: 'send NDJSON chunks, or folders of .md and .txt cut into chunks, to the topic',
    load: async () => (await import('./produce.ts')).registerProduceCommand,
  },
  {
    name: 'ingest',
    summary: 'put files (NDJSON, CSV, Parquet, text) into the store without Kafka',
    load: async () => (await import('./ingest.ts')).registerIngestCommand,
  },
  {
    name: 'search',
    summary: 'ask the store: embed a query, find the nearest chunks, rerank them',
    load: async () => (await import('./search.ts')).registerSearchCommand,
  },
  {
    name: 'dlq',
    summary: 'dead letters: list, show, count, replay and purge them',
    load: async () => (await import('./dlq.ts')).registerDlqCommand,
  },
  {
    name: 'retries',
    summary: 'chunks that wait for another attempt: list them, run them now, drop them',
    load: async () => (await import('./retries.ts')).registerRetriesCommand,
  },
  {
    name: 'offsets',
    summary: 'where the consumer group stands in each partition, and moving it',
    load: async () => (await import('./offsets.ts')).registerOffsetsCommand,
  },
  {
    name: 'plan',
    summary: 'size a fleet: pods, partitions, memory, Kafka and store for a workload, with the arithmetic',
    load: async () => (await import('./plan.ts')).registerPlanCommand,
  },
  {
    name: 'reembed',
    summary: 'another model: fill a new collection, switch readers to it, roll back',
    load: async () => (await import('./reembed.ts')).registerReembedCommand,
  },
  {
    name: 'status',
    summary:
      'how the ingest stands: lag, rate, members, retries, dead letters, engine, workers; once or as a dashboard',
    load: async () => (await import('./status.ts')).registerStatusCommand,
  },
  {
    name: 'models',
    summary: 'push, pull, list, verify and gc of a model registry (S3 or a folder); check and golden of live models',
    load: async () => (await import('./models.ts')).registerModelsCommand,
  },
  {
    name: 'completion',
    summary: 'completion of commands, options and values for bash, zsh or fish',
    load: async () => (await import('./completion.ts')).registerCompletionCommand,
  },
];

export type CommandLine = {
  readonly args: readonly string[];
  readonly env: Env;
  readonly version: string;
  readonly stdout: { write(text: string): unknown };
  readonly stderr: { write(text: string): unknown };
};

/** Resolves with the exit code; a command that ended well may have set `process.exitCode` itself, then undefined. */
export async function runCommandLine(line: CommandLine): Promise<number | undefined> {
  const args = line.args[0] === 'help' ? [...line.args.slice(1), '--help'] : [...line.args];
  try {
    const program = await buildProgram((name) => name === args[0], line);
    await program.parseAsync(args, { from: 'user' });
    return undefined;
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? exitCodes.done : exitCodes.usage;
    printError(error, line.env, line.stderr);
    return exitCodeOf(error);
  }
}

/** The program with the commands that are `wanted` loaded, of the others only name and summary. */
export async function buildProgram(
  wanted: (name: string) => boolean,
  { env, version, stdout, stderr }: Omit<CommandLine, 'args'>,
): Promise<Command> {
  const program = new Command('rag-serving')
    .description('Text chunks from Kafka through a GPU model into a vector store without losing one.')
    .version(version, '-V, --version', 'print the version')
    .helpOption('-h, --help', 'print help')
    .helpCommand('help [command]', 'print help for a command')
    .addHelpText('after', HELP)
    .showHelpAfterError('(see --help)')
    .exitOverride()
    .configureOutput({
      writeOut: (text) => void stdout.write(text),
      writeErr: (text) => void stderr.write(text),
    });
  for (const { name, summary, load } of commands) {
    if (wanted(name)) (await load())(program, env);
    else program.command(name).description(summary);
  }
  return program;
}
