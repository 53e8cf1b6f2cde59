/** The OpenAPI 3.1 document: made from the schemas that the handlers answer by. Pure but for the library that assembles it. */
import type { FastifyDynamicSwaggerOptions } from '@fastify/swagger';
import { createJsonSchemaTransform, createJsonSchemaTransformObject } from 'fastify-type-provider-zod';
import { securitySchemes } from './key-guard.ts';
import { opsSchemas } from './schema-registry.ts';

export type OpenApiDocument = { readonly openapi: string; readonly [part: string]: unknown };

type Transform = NonNullable<FastifyDynamicSwaggerOptions['transform']>;
type TransformObject = NonNullable<FastifyDynamicSwaggerOptions['transformObject']>;

const OPENAPI = '3.1.0';

export const documentInfo: NonNullable<FastifyDynamicSwaggerOptions['openapi']> = {
  openapi: OPENAPI,
  info: {
    title: 'rag-serving ops server',
    version: '1',
    description:
      'What operators and machines ask a worker or an ops sidecar. Routes that show numbers ask for the API key when one is set; health routes never do. Every refusal has the same body.',
    license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
  },
  tags: [
    { name: 'health', description: 'For probes.' },
    { name: 'numbers', description: 'For people and Prometheus.' },
    { name: 'documentation', description: 'About this server.' },
  ],
  components: { securitySchemes },
};

const options = { schemaRegistry: opsSchemas };

export const schemaTransform: Transform = createJsonSchemaTransform(options);

const addComponents: TransformObject = createJsonSchemaTransformObject(options);

/** Nothing here is an input: requests have neither body nor parameters, so the variants for input are left out. */
export const finishDocument: TransformObject = (document) => {
  const whole = addComponents(document);
  if (!('components' in whole) || whole.components?.schemas === undefined) return whole;
  const { schemas } = whole.components;
  for (const name of Object.keys(schemas)) if (name.endsWith('Input')) delete schemas[name];
  return whole;
};

/** The document as this server gives it out. */
export function documentOf(app: { swagger(): object }): OpenApiDocument {
  return withServer(app.swagger(), '.');
}

/** `root`: where this server is, seen from where the document is. Relative, so that any path prefix may stand before it. */
export function withServer(document: object, root: string): OpenApiDocument {
  return { openapi: OPENAPI, ...document, servers: [{ url: root }] };
}
