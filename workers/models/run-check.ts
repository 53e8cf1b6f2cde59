/** Runs `models check` for a person or a script: golden file, client, signals, report, exit code. */
import type { Env } from '../../src/config/env-reader.ts';
import { checkModel } from '../../src/golden/check.ts';
import { checkExitCodes } from '../exit-codes.ts';
import { readGolden } from '../golden-path.ts';
import { listenForStop } from '../signals.ts';
import type { CheckFlags } from './check.ts';
import { reportLines } from './check-report.ts';
import { limitedBy, openModelClient } from './model-call.ts';

export async function runCheck(flags: CheckFlags, env: Env): Promise<number> {
  const golden = await readGolden(flags.golden);
  const client = openModelClient(flags, env);
  try {
    const report = await checkModel(
      {
        ...{ client, golden, model: flags.model, repeat: flags.repeat },
        ...{ waitMs: flags.wait, callTimeoutMs: flags.callTimeout },
        ...{ overrides: flags, maxP99Ms: flags.maxP99Ms, maxErrorRate: flags.maxErrorRate },
        nowMs: () => performance.now(),
        onWaiting: (reason) => process.stderr.write(`waiting: ${reason}\n`),
      },
      limitedBy(listenForStop().stopping, flags.timeout),
    );
    const text = flags.json === true ? JSON.stringify(report) : reportLines(report, golden, flags).join('\n');
    process.stdout.write(`${text}\n`);
    return checkExitCodes[report.outcome];
  } finally {
    client.close();
  }
}
