/** The log of a command at a terminal, on standard error; the warnings of its settings go there first. */
import type { Warnings } from '../../src/config/program-reader.ts';
import { secretSpellings } from '../../src/config/redact.ts';
import type { IdentityConfig } from '../../src/config/sections/server.ts';
import type { Log } from '../../src/telemetry/log.ts';
import { createLogger } from '../../src/telemetry/logger.ts';

export function printWarnings({ warnings }: Warnings): void {
  for (const warning of warnings) process.stderr.write(`warning: ${warning}\n`);
}

/** Without what the libraries say to themselves, unless that is asked for; without any secret of the settings. */
export function toolLog(config: Pick<IdentityConfig, 'logLevel'>, service: string): Log {
  const level = config.logLevel === 'INFO' ? 'ERROR' : config.logLevel;
  return createLogger({ level, service, secrets: secretSpellings(config), fileDescriptor: 2 });
}
