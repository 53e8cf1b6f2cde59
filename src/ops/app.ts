/**
 * The ops server as a Fastify application: its limits, and the list of what it answers. It listens to nothing here, so
 * that the OpenAPI document can be made without a port.
 *
 * Requests have no body. One that brings some is answered and its connection closed, so nothing of it is kept or parsed.
 */
import { type FastifyRequest, fastify } from 'fastify';
import { serializerCompiler, validatorCompiler, type ZodTypeProvider } from 'fastify-type-provider-zod';
import { registerDocs } from './docs-routes.ts';
import { registerEvents } from './events-route.ts';
import { registerHealth } from './health-routes.ts';
import { registerLivePage } from './live-page-route.ts';
import { registerMetrics } from './metrics-route.ts';
import type { OpsAnswers } from './options.ts';
import { refusalOf, refusals, refuse, refuseBytes } from './refusals.ts';
import { RouteTable } from './route-table.ts';
import { registerSecurityHeaders } from './security-headers.ts';
import { registerStatus } from './status-route.ts';

/** What one part of the server adds to it. */
export type RegisterRoutes = (app: TypedApp, answers: OpsAnswers) => void;

export type TypedApp = ReturnType<typeof emptyApp>;

/** In the order of the document. */
const parts: readonly RegisterRoutes[] = [
  registerHealth,
  registerMetrics,
  registerStatus,
  registerEvents,
  registerLivePage,
];

/** A request that has not arrived by then is refused; nobody with a real question is so slow. */
const REQUEST_MS = 10_000;
const CHECK_CONNECTIONS_MS = 1_000;
/** Longer than the pause between two probes or scrapes, so that their connection is still there. */
const KEEP_ALIVE_MS = 65_000;
/** Longer than any answer takes; an event stream is none. */
const ANSWER_MS = 5_000;
/** Below what a process may open, so that connections to this server never cost the ones to Kafka. */
const MAX_CONNECTIONS = 2_048;
/** Above any credential, so that one that is too long is refused by us, as a 401. */
const MAX_HEADER_BYTES = 131_072;

export async function createApp(answers: OpsAnswers): Promise<TypedApp> {
  const app = emptyApp();
  app.server.maxConnections = MAX_CONNECTIONS;
  app.setValidatorCompiler(validatorCompiler);
  app.setSerializerCompiler(serializerCompiler);
  const table = new RouteTable();
  app.addHook('onRoute', ({ method, url }) => table.add(method, url));

  // Before whatever may refuse a request, so that refusals have them too.
  await registerSecurityHeaders(app);
  // Nothing is parsed: the body stays where it is, and goes with its connection.
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('*', (_request, _payload, done) => done(null, undefined));
  app.addHook('onRequest', async (request, reply) => {
    if (bringsBody(request)) reply.header('connection', 'close');
    if (!request.is404) return hasLongBody(request) ? refuse(reply, refusals.tooLarge) : undefined;
    const path = request.raw.url?.split('?', 1)[0] ?? '/';
    if (!table.knows(path)) return refuse(reply, refusals.notFound);
    return refuse(reply.header('allow', 'GET, HEAD'), refusals.methodNotAllowed);
  });
  app.setNotFoundHandler(async (_request, reply) => refuse(reply, refusals.notFound));
  app.setErrorHandler(async (error: { readonly statusCode?: number }, _request, reply) => {
    const refusal = refusalOf(error.statusCode);
    if (refusal.status >= 500) answers.onFault?.(error);
    return refuse(reply, refusal);
  });

  await registerDocs(app, (documented) => {
    for (const register of parts) register(documented, answers);
  });
  return app;
}

function emptyApp() {
  return fastify({
    logger: false,
    // While closing, probes get a true answer instead of a general 503.
    return503OnClosing: false,
    requestTimeout: REQUEST_MS,
    keepAliveTimeout: KEEP_ALIVE_MS,
    handlerTimeout: ANSWER_MS,
    http: {
      maxHeaderSize: MAX_HEADER_BYTES,
      headersTimeout: REQUEST_MS,
      // Node would refuse a request without Host by itself, with no body.
      requireHostHeader: false,
      connectionsCheckingInterval: CHECK_CONNECTIONS_MS,
    },
    routerOptions: { ignoreTrailingSlash: true, maxParamLength: 64 },
    frameworkErrors: (_error, _request, reply) => void refuse(reply, refusals.malformed),
    clientErrorHandler: refuseBytes,
  }).withTypeProvider<ZodTypeProvider>();
}

function bringsBody({ headers }: FastifyRequest): boolean {
  return headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0;
}

const BODY_BYTES = 1_024;

function hasLongBody({ headers }: FastifyRequest): boolean {
  return Number(headers['content-length'] ?? 0) > BODY_BYTES;
}
