/**
 * The ops server: is the process alive (/healthz), should it get work (/ready), what does it count (/metrics).
 *
 * It stays up to the very end of a drain: liveness stays 200 so that nobody kills a process that is finishing its work,
 * readiness is 503 from the first moment, metrics go on. Answers never quote the request.
 */
import { type FastifyInstance, type FastifyReply, fastify } from 'fastify';
import { mayRead } from './access.ts';
import { bind } from './bind.ts';
import { decideReadiness, type ReadinessSnapshot } from './readiness.ts';

export type OpsServerOptions = {
  /** `0.0.0.0` and `::` mean every interface of every family; no brackets. */
  readonly host: string;
  /** 0 takes any free port. */
  readonly port: number;
  /** When given, /metrics asks for it. */
  readonly apiKey: string | undefined;
  /** Read anew for every request. Throwing counts as not ready. */
  snapshot(): ReadinessSnapshot;
  /** In the form that the Accept header asks for. */
  readonly metrics: { render(accept?: string): Promise<{ readonly contentType: string; readonly text: string }> };
  /** Why only another process would get on; undefined while this one does. Liveness is 503 then. */
  stalled?(): string | undefined;
  /** Takes secrets out of the reasons that are shown. */
  redact(text: string): string;
};

export type OpsServer = {
  readonly port: number;
  /** Idempotent. Ends within about a second, whatever clients still hold open. */
  close(): Promise<void>;
};

export type OpsErrorBody = { readonly error: { readonly code: string; readonly message: string } };

const CLOSE_GRACE_MS = 1_000;

export async function startOpsServer(options: OpsServerOptions): Promise<OpsServer> {
  const app = createApp(options);
  try {
    await bind(options.host, options.port, (address) => app.listen(address));
  } catch (error) {
    await app.close();
    throw error;
  }
  const address = app.server.address();
  let closing: Promise<void> | undefined;
  return {
    port: typeof address === 'object' && address !== null ? address.port : options.port,
    close: () => {
      closing ??= closeApp(app);
      return closing;
    },
  };
}

async function closeApp(app: FastifyInstance): Promise<void> {
  // A scrape in flight may end; one that dawdles is cut off.
  const force = setTimeout(() => app.server.closeAllConnections(), CLOSE_GRACE_MS);
  try {
    await app.close();
  } finally {
    clearTimeout(force);
  }
}

function createApp(options: OpsServerOptions): FastifyInstance {
  const app = fastify({
    logger: false,
    // While closing, probes get a true answer instead of a general 503.
    return503OnClosing: false,
    requestTimeout: 10_000,
    keepAliveTimeout: 65_000,
    bodyLimit: 1_024,
    // Above any credential, so that one that is too long is refused by us, as a 401.
    http: { maxHeaderSize: 131_072 },
    routerOptions: { ignoreTrailingSlash: true, maxParamLength: 64 },
    frameworkErrors: (_error, _request, reply) => void sendError(reply, 400, 'bad_request', 'malformed request'),
  });

  app.get('/healthz', async (_request, reply) => {
    const reason = options.stalled?.();
    if (reason === undefined) return send(reply, 200, { status: 'alive' });
    return send(reply, 503, { status: 'stalled', reason: options.redact(reason) });
  });

  app.get('/ready', async (_request, reply) => {
    const { statusCode, body } = decideReadiness(takeSnapshot(options));
    const checks = body.checks.map((check) =>
      check.reason === undefined ? check : { ...check, reason: options.redact(check.reason) },
    );
    return send(reply, statusCode, { ...body, checks });
  });

  app.get('/metrics', async (request, reply) => {
    if (!mayRead(request.raw.rawHeaders, options.apiKey)) {
      reply.header('www-authenticate', 'Bearer realm="rag-serving"');
      return sendError(reply, 401, 'unauthorized', 'send the API key as "Authorization: Bearer …" or "X-API-Key"');
    }
    const { contentType, text } = await options.metrics.render(request.headers.accept);
    return reply
      .header('content-type', contentType)
      .header('vary', 'accept')
      .header('cache-control', 'no-store')
      .send(text);
  });

  app.setNotFoundHandler(async (_request, reply) =>
    sendError(reply, 404, 'not_found', 'the ops server has GET /healthz, /ready and /metrics'),
  );
  app.setErrorHandler(async (error: { readonly statusCode?: number }, _request, reply) => {
    const status = error.statusCode ?? 500;
    return status >= 400 && status < 500
      ? sendError(reply, status, 'bad_request', 'malformed request')
      : sendError(reply, 500, 'internal', 'the ops server failed to answer');
  });
  return app;
}

function takeSnapshot(options: OpsServerOptions): ReadinessSnapshot {
  try {
    return options.snapshot();
  } catch {
    return { phase: 'failed', checks: [] };
  }
}

function send(reply: FastifyReply, status: number, body: object): FastifyReply {
  return reply.code(status).header('cache-control', 'no-store').send(body);
}

function sendError(reply: FastifyReply, status: number, code: string, message: string): FastifyReply {
  const body: OpsErrorBody = { error: { code, message } };
  return send(reply, status, body);
}
