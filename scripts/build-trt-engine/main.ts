/** Command line of the engine build. A model that cannot be built is refused, which is another exit code than a failure. */
import { exitCodes, runScript } from '../command/run-script.ts';
import { buildCommand } from './command.ts';
import { runBuild } from './run.ts';

await runScript(
  (signal) =>
    buildCommand(async (options) => {
      const { env, stdout, stderr } = process;
      await runBuild(options, { env, stdout, stderr }, signal);
    }),
  { ENGINE_MODEL_INVALID: exitCodes.refused },
);
