/** What the process counts (/metrics), for Prometheus. */
import { z } from 'zod';
import { anyRefusal } from './answer-schemas.ts';
import type { TypedApp } from './app.ts';
import { askForKey, keySecurity } from './key-guard.ts';
import type { OpsAnswers } from './options.ts';

export function registerMetrics(app: TypedApp, { metrics, apiKey }: OpsAnswers): void {
  app.get(
    '/metrics',
    {
      onRequest: askForKey(apiKey),
      schema: {
        tags: ['numbers'],
        summary: 'Metrics for Prometheus',
        operationId: 'getMetrics',
        security: keySecurity,
        response: {
          200: { description: 'The Prometheus text format.', content: { 'text/plain': { schema: z.string() } } },
          ...anyRefusal,
        },
      },
    },
    async (request, reply) => {
      const { contentType, text } = await metrics.render(request.headers.accept);
      return reply
        .header('content-type', contentType)
        .header('vary', 'accept')
        .header('cache-control', 'no-store')
        .send(text);
    },
  );
}
