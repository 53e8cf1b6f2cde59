/** Command line of build-model-repos: exit code 1 when it fails, 2 for wrong options, 3 when --check found problems. */
import { CommanderError } from 'commander';
import { isServingError } from '../../src/errors.ts';
import { buildRepository } from './build.ts';
import { checkRepositories } from './check/check-repository.ts';
import { buildCommand, buildsOf, type Flags } from './command.ts';

const EXIT = { failed: 1, usage: 2, problems: 3 } as const;

const report = (line: string) => void process.stderr.write(`${line}\n`);

async function main(): Promise<void> {
  const flags = buildCommand().exitOverride().parse().opts<Flags>();
  if (flags.check !== undefined) {
    const { models, problems } = await checkRepositories(flags.check);
    for (const problem of problems) process.stdout.write(`${problem}\n`);
    report(`${flags.check}: ${models} models, ${problems.length} problems`);
    if (problems.length > 0) process.exitCode = EXIT.problems;
    return;
  }
  for (const options of buildsOf(flags)) await buildRepository(options, report);
}

try {
  await main();
} catch (error) {
  if (error instanceof CommanderError) {
    process.exitCode = error.exitCode === 0 ? 0 : EXIT.usage;
  } else {
    report(isServingError(error) ? `${error.code}: ${error.message}` : String(error));
    process.exitCode = isServingError(error, 'ARGUMENT_INVALID') ? EXIT.usage : EXIT.failed;
  }
}
