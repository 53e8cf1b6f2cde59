/** The live page (/): /status for people. It asks for the API key itself, so it is given to everybody. */
import { z } from 'zod';
import { anyRefusal } from './answer-schemas.ts';
import type { TypedApp } from './app.ts';
import { livePage, livePagePolicy } from './live-page.ts';
import type { OpsAnswers } from './options.ts';

export function registerLivePage(app: TypedApp, { apiKey }: OpsAnswers): void {
  const page = livePage(apiKey !== undefined);
  app.get(
    '/',
    {
      schema: {
        tags: ['numbers'],
        summary: 'The live page',
        description: 'Shows what /events tells, and asks for the API key when one is set. Holds no numbers itself.',
        operationId: 'getLivePage',
        response: {
          200: { description: 'One file.', content: { 'text/html': { schema: z.string() } } },
          ...anyRefusal,
        },
      },
    },
    async (_request, reply) =>
      reply
        .header('content-type', 'text/html; charset=utf-8')
        .header('content-security-policy', livePagePolicy)
        .header('cache-control', 'no-store')
        .send(page),
  );
}
