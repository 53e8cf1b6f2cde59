/** Runs a TypeScript file of this repository as a program: `node test/support/stack-run.mjs FILE [arguments…]`. No build is needed. */
import { runnerImport } from 'vite';

process.argv.splice(1, 1);
await runnerImport(process.argv[1]);
