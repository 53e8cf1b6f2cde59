/** `rag-serving doctor`: settings first, for nothing can be checked with wrong ones; then all the rest side by side. */
import type { Env } from '../../src/config/env-reader.ts';
import { readWorkerConfig, type WorkerConfig } from '../../src/config/programs.ts';
import { environmentSecrets } from '../../src/config/redact.ts';
import { isServingError } from '../../src/errors.ts';
import { silentLog } from '../../src/telemetry/log.ts';
import { createRedactor } from '../../src/telemetry/redaction.ts';
import type { ExitCode } from '../exit-codes.ts';
import { interruptible } from '../tool/interruptible.ts';
import { paint, terminalOf } from '../tool/terminal.ts';
import { toolLog } from '../tool/tool-log.ts';
import { fail } from './check.ts';
import { allChecks } from './checks.ts';
import { closeParts, openParts, SERVICE } from './parts.ts';
import { exitCodeOf, reportJson, reportLines } from './report.ts';
import { type Checked, runChecks } from './run-checks.ts';
import { select } from './select.ts';

export type DoctorFlags = {
  readonly only?: readonly string[];
  readonly skip?: readonly string[];
  /** Seconds. */
  readonly timeout: number;
  readonly json?: true;
};

const GRACE_MS = 4_000;
/** Of the limit of a check: what one question may take of it. */
const CALL_SHARE = 0.8;

export async function runDoctor(flags: DoctorFlags, env: Env): Promise<ExitCode> {
  const config = readConfig(env);
  if (!('kafka' in config)) return tell([config], flags, env);
  return interruptible(async (signal) => tell(await examine(config, flags, signal), flags, env));
}

function readConfig(env: Env): WorkerConfig | Checked {
  try {
    return readWorkerConfig(env);
  } catch (error) {
    if (!isServingError(error, 'CONFIG_INVALID')) throw error;
    const outcome = fail(error.message, 'correct them all: nothing else is checked before');
    return { name: 'settings', group: 'settings', outcome };
  }
}

async function examine(config: WorkerConfig, flags: DoctorFlags, signal: AbortSignal): Promise<readonly Checked[]> {
  const timeoutMs = flags.timeout * 1_000;
  // What is away is the report itself; the libraries' own words about it would only disturb it.
  const log = config.logLevel === 'INFO' ? silentLog : toolLog(config, SERVICE);
  const parts = openParts(config, Math.ceil(timeoutMs * CALL_SHARE), log);
  try {
    const checks = select(allChecks(parts), flags.only, flags.skip ?? []);
    return await runChecks(checks, { timeoutMs, graceMs: GRACE_MS }, signal);
  } finally {
    await closeParts(parts);
  }
}

function tell(checked: readonly Checked[], { json }: DoctorFlags, env: Env): ExitCode {
  const redactor = createRedactor({ secrets: environmentSecrets(env) });
  const { colours } = terminalOf(process.stdout, env);
  const text =
    json === true
      ? JSON.stringify(reportJson(checked.map((one) => redacted(one, (said) => redactor.text(said)))))
      : reportLines(checked.map((one) => redacted(one, (said) => redactor.text(said))))
          .map((line) => paint(line, colours))
          .join('\n');
  process.stdout.write(`${text}\n`);
  return exitCodeOf(checked);
}

/** Line by line: a long list must not be cut as one long text. */
function redacted(checked: Checked, redact: (text: string) => string): Checked {
  const lines = (text: string) => text.split('\n').map(redact).join('\n');
  const { outcome } = checked;
  if (outcome.kind === 'skipped') return { ...checked, outcome: { ...outcome, why: lines(outcome.why) } };
  return { ...checked, outcome: { ...outcome, found: lines(outcome.found) } };
}
