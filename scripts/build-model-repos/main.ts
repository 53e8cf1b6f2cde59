/** Command line of build-model-repos: exit code 3 also when --check found problems. */
import { exitCodes, runScript } from '../command/run-script.ts';
import { buildRepository } from './build.ts';
import { checkRepositories } from './check/check-repository.ts';
import { buildCommand, buildsOf } from './command.ts';

const report = (line: string) => void process.stderr.write(`${line}\n`);

await runScript((signal) =>
  buildCommand(async (flags) => {
    if (flags.check !== undefined) {
      const { models, problems } = await checkRepositories(flags.check);
      for (const problem of problems) process.stdout.write(`${problem}\n`);
      report(`${flags.check}: ${models} models, ${problems.length} problems`);
      if (problems.length > 0) process.exitCode = exitCodes.refused;
      return;
    }
    for (const options of buildsOf(flags)) await buildRepository(options, report, signal);
  }),
);
