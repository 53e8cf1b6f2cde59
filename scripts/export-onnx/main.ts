/** Command line of the export. */
import { exitCodes, runScript } from '../command/run-script.ts';
import { cacheRoot } from '../stack/cache.ts';
import { exportCommand } from './command.ts';
import { runExport } from './run.ts';

await runScript((signal) =>
  exportCommand(async (options) => {
    const surroundings = { env: process.env, cacheDir: cacheRoot(), stderr: process.stderr };
    const report = await runExport(options, surroundings, signal);
    if (!report.accepted) process.exitCode = exitCodes.refused;
  }),
);
