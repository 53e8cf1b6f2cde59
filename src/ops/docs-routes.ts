/**
 * The OpenAPI document (/openapi.json) and its interactive page (/docs, /api/docs). The page's files come with its package:
 * nothing is fetched from elsewhere.
 *
 * Every address in them is relative, so that they work behind a path prefix that this server never hears of. That is why
 * `/docs` is sent on to `docs/`: relative addresses on a page need its trailing slash.
 */
import swagger from '@fastify/swagger';
import swaggerUi from '@fastify/swagger-ui';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import { anyRefusal } from './answer-schemas.ts';
import type { TypedApp } from './app.ts';
import { documentInfo, documentOf, finishDocument, schemaTransform, withServer } from './openapi.ts';

const PAGE_POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  // The page sets its own icons and sizes as styles and data addresses.
  "style-src 'self' 'unsafe-inline'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ');

/** Where the root of this server is, as seen from each page. */
const PAGES = [
  { path: '/docs', root: '..' },
  { path: '/api/docs', root: '../..' },
] as const;

/** `declare` adds the routes that the document shows. */
export async function registerDocs(app: TypedApp, declare: (app: TypedApp) => void): Promise<void> {
  await app.register(swagger, {
    openapi: documentInfo,
    transform: schemaTransform,
    transformObject: finishDocument,
  });
  declare(app);
  app.get(
    '/openapi.json',
    {
      schema: {
        tags: ['documentation'],
        summary: 'This document',
        operationId: 'getOpenApi',
        response: {
          200: {
            description: 'OpenAPI 3.1.',
            content: { 'application/json': { schema: z.looseObject({ openapi: z.string() }) } },
          },
          ...anyRefusal,
        },
      },
    },
    async (_request, reply) => reply.header('cache-control', 'no-store').send(documentOf(app)),
  );
  for (const page of PAGES) {
    // Each in a scope of its own: the plugin is made for one page a server.
    await app.register(async (scope) => {
      await scope.register(swaggerUi, {
        routePrefix: page.path,
        uiConfig: { layout: 'BaseLayout', deepLinking: true, tryItOutEnabled: true, displayRequestDuration: true },
        theme: { title: 'rag-serving ops server' },
        staticCSP: PAGE_POLICY,
        transformSpecification: (document) => withServer(document, page.root),
        transformSpecificationClone: false,
        uiHooks: { onRequest: (request, reply, done) => (sendOn(request, reply) ? undefined : done()) },
      });
    });
  }
}

function sendOn(request: FastifyRequest, reply: FastifyReply): boolean {
  const path = request.raw.url?.split('?', 1)[0] ?? '';
  const page = PAGES.find((one) => one.path === path);
  if (page === undefined) return false;
  // Seen from its own folder the page is its last name.
  void reply.redirect(`${path.slice(path.lastIndexOf('/') + 1)}/`, 302);
  return true;
}
