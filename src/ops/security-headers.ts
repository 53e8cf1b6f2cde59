/**
 * Headers that keep a browser from doing more with an answer than showing it. The policy allows nothing; a page that needs
 * more says what, for itself (see docs-routes.ts). No HSTS: whether a host speaks TLS is for whoever ends TLS to say.
 */
import helmet from '@fastify/helmet';
import type { TypedApp } from './app.ts';

export async function registerSecurityHeaders(app: TypedApp): Promise<void> {
  await app.register(helmet, {
    contentSecurityPolicy: {
      useDefaults: false,
      directives: {
        defaultSrc: ["'none'"],
        baseUri: ["'none'"],
        formAction: ["'none'"],
        frameAncestors: ["'none'"],
      },
    },
    strictTransportSecurity: false,
    referrerPolicy: { policy: 'no-referrer' },
    xFrameOptions: { action: 'deny' },
  });
}
