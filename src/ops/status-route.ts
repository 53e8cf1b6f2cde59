/** Everything an operator looks at, as one snapshot (/status). The live page shows the same. */
import { anyRefusal } from './answer-schemas.ts';
import type { TypedApp } from './app.ts';
import { askForKey, keySecurity } from './key-guard.ts';
import type { OpsAnswers } from './options.ts';
import { type StatusSnapshot, statusSchema } from './status-schema.ts';

export function registerStatus(app: TypedApp, answers: OpsAnswers): void {
  app.get(
    '/status',
    {
      onRequest: askForKey(answers.apiKey),
      schema: {
        tags: ['numbers'],
        summary: 'What an operator looks at, as one snapshot',
        description: 'Always 200, also while not ready. The same numbers as /metrics.',
        operationId: 'getStatus',
        security: keySecurity,
        response: {
          200: { description: 'The snapshot.', content: { 'application/json': { schema: statusSchema } } },
          ...anyRefusal,
        },
      },
    },
    async (_request, reply) => reply.header('cache-control', 'no-store').send(takeStatus(answers)),
  );
}

/** The snapshot with secrets taken out of its reasons. */
export function takeStatus({ status, redact }: OpsAnswers): StatusSnapshot {
  const taken = status();
  const shown = (reason: string | null) => (reason === null ? null : redact(reason));
  const { modelServer, vram } = taken;
  return {
    ...taken,
    checks: taken.checks.map((check) =>
      check.reason === undefined ? check : { ...check, reason: redact(check.reason) },
    ),
    modelServer: {
      ...modelServer,
      models: modelServer.models.map((model) => ({ ...model, reason: shown(model.reason) })),
    },
    vram: vram === null ? null : { ...vram, reason: shown(vram.reason) },
  };
}
