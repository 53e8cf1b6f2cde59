/** Lets a route answer only those who show the API key, and says so in the document. */
import type { FastifyReply, FastifyRequest } from 'fastify';
import { mayRead } from './access.ts';
import { refusals, refuse } from './refusals.ts';

/** Either of them; nothing is asked where no key is set. */
export const keySecurity = [{ bearer: [] }, { apiKey: [] }, {}];

export const securitySchemes = {
  bearer: { type: 'http', scheme: 'bearer', description: 'The API key as a bearer token.' },
  apiKey: { type: 'apiKey', in: 'header', name: 'X-API-Key', description: 'The API key in a header of its own.' },
} as const;

export function askForKey(apiKey: string | undefined) {
  return async (request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply | undefined> => {
    if (mayRead(request.raw.rawHeaders, apiKey)) return undefined;
    return refuse(reply.header('www-authenticate', 'Bearer realm="rag-serving"'), refusals.unauthorized);
  };
}
