/** Every refusal in one shape, whoever found the fault: us, Fastify, or Node's HTTP parser. Nothing quotes the request. */
import { STATUS_CODES } from 'node:http';
import type { Socket } from 'node:net';
import type { FastifyReply } from 'fastify';
import type { ErrorBodyCode, OpsErrorBody } from './answer-schemas.ts';

type Refusal = { readonly status: number; readonly code: ErrorBodyCode; readonly message: string };

export const refusals = {
  malformed: { status: 400, code: 'bad_request', message: 'malformed request' },
  unauthorized: {
    status: 401,
    code: 'unauthorized',
    message: 'send the API key as "Authorization: Bearer …" or "X-API-Key"',
  },
  notFound: { status: 404, code: 'not_found', message: 'no such path; /docs shows those that there are' },
  methodNotAllowed: { status: 405, code: 'method_not_allowed', message: 'this path has GET and HEAD only' },
  timeout: { status: 408, code: 'timeout', message: 'the request took too long to arrive' },
  tooLarge: { status: 413, code: 'too_large', message: 'requests here carry no body' },
  headersTooLarge: { status: 431, code: 'too_large', message: 'the headers are too large' },
  failed: { status: 500, code: 'internal', message: 'the ops server failed to answer' },
  tooManyStreams: { status: 503, code: 'busy', message: 'too many live pages are open; close one of them' },
  tooSlow: { status: 503, code: 'timeout', message: 'the answer took too long to make' },
} as const satisfies Record<string, Refusal>;

export function bodyOf({ code, message }: Refusal): OpsErrorBody {
  return { error: { code, message } };
}

export function refuse(reply: FastifyReply, refusal: Refusal): FastifyReply {
  return reply.code(refusal.status).header('cache-control', 'no-store').send(bodyOf(refusal));
}

/** The refusal for what Fastify found wrong with a request, by its status. */
export function refusalOf(status: number | undefined): Refusal {
  if (status === 413) return refusals.tooLarge;
  if (status === 503) return refusals.tooSlow;
  return status !== undefined && status >= 400 && status < 500 ? refusals.malformed : refusals.failed;
}

/** For bytes that are no request: no reply exists yet, so the answer is written by hand. */
export function refuseBytes(error: { readonly code?: string }, socket: Socket): void {
  if (!socket.writable || error.code === 'ECONNRESET') {
    socket.destroy();
    return;
  }
  const refusal = refusalOfParser(error.code);
  const body = JSON.stringify(bodyOf(refusal));
  const head = [
    `HTTP/1.1 ${refusal.status} ${STATUS_CODES[refusal.status]}`,
    'content-type: application/json; charset=utf-8',
    `content-length: ${Buffer.byteLength(body)}`,
    'cache-control: no-store',
    'connection: close',
  ];
  socket.end(`${head.join('\r\n')}\r\n\r\n${body}`);
  // A peer that never reads would keep the socket half open.
  socket.destroySoon();
}

function refusalOfParser(code: string | undefined): Refusal {
  if (code === 'HPE_HEADER_OVERFLOW') return refusals.headersTooLarge;
  return code === 'ERR_HTTP_REQUEST_TIMEOUT' ? refusals.timeout : refusals.malformed;
}
