/**
 * The snapshot of /status as it changes (/events), for the live page: server-sent events.
 *
 * The answer never ends, so it is taken out of Fastify's hands, and with it out of the time limit for answers. It asks for
 * the API key in a header like every other route: browsers' own EventSource cannot send one, the page reads with fetch.
 */
import { z } from 'zod';
import { anyRefusal } from './answer-schemas.ts';
import type { TypedApp } from './app.ts';
import { EventStreams } from './event-streams.ts';
import { askForKey, keySecurity } from './key-guard.ts';
import type { OpsAnswers } from './options.ts';
import { refusals, refuse } from './refusals.ts';
import { takeStatus } from './status-route.ts';

export function registerEvents(app: TypedApp, answers: OpsAnswers): void {
  const streams = new EventStreams({ take: () => takeStatus(answers), onFault: answers.onFault?.bind(answers) });
  // Before the server waits for its connections.
  app.addHook('preClose', async () => streams.close());
  app.get(
    '/events',
    {
      onRequest: askForKey(answers.apiKey),
      schema: {
        tags: ['numbers'],
        summary: 'The snapshot of /status as it changes',
        description:
          'Server-sent events. Each `status` event holds one snapshot: the first at once, then about every two seconds when something has changed; otherwise a comment shows that the connection lives. A reader that does not keep up is dropped.',
        operationId: 'getEvents',
        security: keySecurity,
        response: {
          200: {
            description: 'Events; the data of each is a Status.',
            content: { 'text/event-stream': { schema: z.string() } },
          },
          ...anyRefusal,
        },
      },
    },
    async (request, reply) => {
      reply.header('content-type', 'text/event-stream; charset=utf-8').header('cache-control', 'no-store');
      if (request.method === 'HEAD') return reply.send('');
      if (streams.full) return refuse(reply.removeHeader('content-type'), refusals.tooManyStreams);
      const first = takeStatus(answers);
      // The connection is not for reuse: after the last event it closes with the server. Proxies shall not collect events.
      reply.header('connection', 'close').header('x-accel-buffering', 'no');
      reply.hijack();
      reply.raw.writeHead(200, reply.getHeaders() as Record<string, string>);
      streams.add(reply.raw, first);
      return reply;
    },
  );
}
