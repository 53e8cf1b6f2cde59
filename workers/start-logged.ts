/** What every program that serves begins with: its log, without the secrets of its settings, and what is odd about these. */
import { secretSpellings } from '../src/config/redact.ts';
import type { Log } from '../src/telemetry/log.ts';
import { createLogger, type LoggerOptions } from '../src/telemetry/logger.ts';
import { createRedactor, type Redactor } from '../src/telemetry/redaction.ts';
import { switchLevelOnSignal } from './log-level-signal.ts';

export type LoggedConfig = {
  readonly logLevel: LoggerOptions['level'];
  readonly pool: string;
  readonly workerId: string;
  readonly warnings: readonly string[];
};

export function startLogged(config: LoggedConfig, service: string): { readonly log: Log; readonly redactor: Redactor } {
  const secrets = secretSpellings(config);
  const log = createLogger({ level: config.logLevel, service, pool: config.pool, worker: config.workerId, secrets });
  switchLevelOnSignal(log);
  for (const warning of config.warnings) log.warn('settings', { warning });
  return { log, redactor: createRedactor({ secrets }) };
}
