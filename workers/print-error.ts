/** An error for the person at the terminal: what is wrong and its causes. The stack only at RAG_SERVING_LOG_LEVEL=DEBUG. */
import type { Env } from '../src/config/env-reader.ts';
import { environmentSecrets } from '../src/config/redact.ts';
import { isServingError } from '../src/errors.ts';
import { safeMessage } from '../src/telemetry/error-redaction.ts';
import { createRedactor } from '../src/telemetry/redaction.ts';
import { maskByForm } from '../src/telemetry/redaction-patterns.ts';

const MAX_CAUSES = 5;

export function printError(error: unknown, env: Env, stderr: { write(text: string): unknown }): void {
  const redactor = createRedactor({ secrets: environmentSecrets(env) });
  const lines = [`rag-serving: ${told(error)}`];
  let cause: unknown = error instanceof Error ? error.cause : undefined;
  for (let depth = 0; cause instanceof Error && depth < MAX_CAUSES; depth++) {
    lines.push(`  caused by: ${told(cause)}`);
    cause = cause.cause;
  }
  if (env.RAG_SERVING_LOG_LEVEL?.trim().toUpperCase() === 'DEBUG') {
    lines.push(JSON.stringify(redactor.value(error), undefined, 2));
  }
  // Line by line: a long list of wrong settings must not be cut as one long text.
  // Before that by form: a key file has several.
  const safe = lines.flatMap((text) => maskByForm(text).split('\n')).map((line) => redactor.text(line));
  stderr.write(`${safe.join('\n')}\n`);
}

function told(error: unknown): string {
  if (!(error instanceof Error)) return `a ${typeof error} was thrown`;
  return isServingError(error) ? `${error.code}: ${error.message}` : `${error.name}: ${safeMessage(error)}`;
}
