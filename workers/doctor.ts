/** `rag-serving doctor`: its options. What they start is loaded only when it runs. */
import { type Command, InvalidArgumentError } from 'commander';
import type { Env } from '../src/config/env-reader.ts';
import { groups } from './doctor/check.ts';
import type { DoctorFlags } from './doctor/run.ts';
import { numberIn } from './tool/number-options.ts';

const HELP = `
Settings are the worker's. Run it where the worker is to run: in its container, as its user. Nothing is made or changed in Kafka,
Redis or a store; the model server is given a region of shared memory for a moment, which is taken back, also at Ctrl-C.

Groups: ${groups.join(', ')}. --only takes along what its checks need.

Examples:
  rag-serving doctor
  rag-serving doctor --only kafka --timeout 30
  rag-serving doctor --skip store --json | jq '.checks[] | select(.outcome == "fail")'

Exit codes: 0 all ok, or only warnings; 1 something failed; 2 wrong usage or settings; 3 interrupted.`;

/** Adds the `doctor` command. `env` is the process's environment. */
export function registerDoctorCommand(program: Command, env: Env): void {
  program
    .command('doctor')
    .description('check all that an installation needs, and say what to do about what fails')
    .option('--only <groups>', 'only these, separated by commas', groupNames)
    .option('--skip <groups>', 'without these', groupNames)
    .option('--timeout <seconds>', 'limit of each check', numberIn(0.1, 600), 10)
    .option('--json', 'one JSON object')
    .addHelpText('after', HELP)
    .action(async (flags: DoctorFlags) => {
      process.exitCode = await (await import('./doctor/run.ts')).runDoctor(flags, env);
    });
}

function groupNames(text: string, before: readonly string[] = []): readonly string[] {
  const names = text.split(',').map((name) => name.trim());
  const wrong = names.find((name) => !(groups as readonly string[]).includes(name));
  if (wrong === undefined) return [...before, ...names];
  throw new InvalidArgumentError(`Groups are ${groups.join(', ')}.`);
}
