/**
 * Is the process alive (/healthz), should it get work (/ready).
 *
 * Liveness asks nobody else: that it is answered at all shows that the process and its event loop live. It is 503 only for
 * what a restart heals. Readiness is 503 from the first moment of a drain, while everything else still answers.
 */
import { anyRefusal, livenessSchema, readinessSchema } from './answer-schemas.ts';
import type { TypedApp } from './app.ts';
import type { OpsAnswers } from './options.ts';
import { decideReadiness, type ReadinessSnapshot } from './readiness.ts';

export function registerHealth(app: TypedApp, answers: OpsAnswers): void {
  app.get(
    '/healthz',
    {
      schema: {
        tags: ['health'],
        summary: 'Is the process alive',
        description:
          'Depends on no other server: a restart would not bring Kafka, Triton or Redis back. 503 only once the process knows that nothing but another process helps; it then ends by itself.',
        operationId: 'getLiveness',
        response: {
          200: { description: 'Alive.', content: { 'application/json': { schema: livenessSchema } } },
          503: { description: 'Only a restart helps.', content: { 'application/json': { schema: livenessSchema } } },
          ...anyRefusal,
        },
      },
    },
    async (_request, reply) => {
      const reason = answers.stalled?.();
      reply.header('cache-control', 'no-store');
      if (reason === undefined) return reply.code(200).send({ status: 'alive' });
      return reply.code(503).send({ status: 'stalled', reason: answers.redact(reason) });
    },
  );

  app.get(
    '/ready',
    {
      schema: {
        tags: ['health'],
        summary: 'Should it get work',
        description:
          'Running, and no check fails. Each check says its state, why, and since when. 503 from the first moment of a drain.',
        operationId: 'getReadiness',
        response: {
          200: { description: 'Ready.', content: { 'application/json': { schema: readinessSchema } } },
          503: { description: 'Not ready.', content: { 'application/json': { schema: readinessSchema } } },
          ...anyRefusal,
        },
      },
    },
    async (_request, reply) => {
      const { statusCode, body } = decideReadiness(takeSnapshot(answers));
      const checks = body.checks.map((check) =>
        check.reason === undefined ? check : { ...check, reason: answers.redact(check.reason) },
      );
      return reply
        .code(statusCode)
        .header('cache-control', 'no-store')
        .send({ ...body, checks });
    },
  );
}

function takeSnapshot(answers: OpsAnswers): ReadinessSnapshot {
  try {
    return answers.snapshot();
  } catch (error) {
    answers.onFault?.(error);
    return { phase: 'failed', checks: [] };
  }
}
