/** What a program says about something that was thrown. */
import { environmentSecrets } from '../../../src/config/redact.ts';
import { createLogger } from '../../../src/telemetry/logger.ts';
import { printError } from '../../../workers/print-error.ts';

/** All that a program would say about it: a line at every level, a child's too, and the words on the terminal. */
export function said(thing: unknown, env: Record<string, string> = {}): string {
  const secrets = environmentSecrets(env);
  const out: string[] = [];
  const log = createLogger({
    level: 'DEBUG',
    service: 's',
    worker: 'w',
    secrets,
    stream: { write: (line) => void out.push(line) },
  });
  const fields = { error: thing, reason: thing instanceof Error ? thing.message : undefined, list: [thing] };
  const { error } = fields;
  for (const one of [log, log.child({ error })]) {
    one.debug('d', { error });
    one.info('i', { nested: { error } });
    one.warn('w', { list: [error] });
    one.error('e', { error });
  }
  printError(thing, { ...env, RAG_SERVING_LOG_LEVEL: 'DEBUG' }, { write: (text) => void out.push(text) });
  return out.join('\n');
}
