/** The HTTP side of the engine: health for probes, and metrics. Inference is gRPC only. */
import { createServer, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { ServingError } from '../errors.ts';
import { metricsText } from './metrics-text.ts';
import type { Repository } from './repository.ts';
import { asWireFault } from './wire-fault.ts';

export type HttpParts = { readonly repository: Repository; ready(): boolean };

const MODEL_READY = /^\/v2\/models\/([^/]+)(?:\/versions\/([^/]+))?\/ready$/;

export function httpServer(parts: HttpParts): Server {
  return createServer((request, response) => {
    if (request.method !== 'GET' && request.method !== 'HEAD') return send(response, 405, error('Method Not Allowed'));
    const path = (request.url ?? '/').split('?', 1)[0]!;
    if (path === '/v2/health/live') return send(response, 200, '');
    if (path === '/v2/health/ready') return send(response, parts.ready() ? 200 : 400, '');
    if (path === '/metrics') {
      const runners = parts.repository.all.map(({ runner }) => runner);
      return send(response, 200, metricsText(runners), 'text/plain; charset=utf-8');
    }
    const model = MODEL_READY.exec(path);
    if (model !== null) return sendModelReady(response, parts, decode(model[1]!), decode(model[2] ?? ''));
    return send(response, 404, error('Not Found'));
  });
}

/** Resolves with the port; rejects with CONFIG_INVALID when it cannot be had. */
export function listenHttp(server: Server, host: string, port: number, option: string): Promise<number> {
  return new Promise((resolve, reject) => {
    server.once('error', (cause) =>
      reject(
        new ServingError('CONFIG_INVALID', `${option} ${port} cannot be opened on ${host}: choose another`, { cause }),
      ),
    );
    server.listen(port, host, () => resolve((server.address() as AddressInfo).port));
  });
}

function sendModelReady(response: ServerResponse, parts: HttpParts, name: string, version: string): void {
  try {
    const ready = parts.ready() && parts.repository.isReady(name, version);
    send(response, ready ? 200 : 400, ready ? '' : error('Model version not ready'));
  } catch (fault) {
    send(response, 400, error(asWireFault(fault).message));
  }
}

function decode(segment: string): string {
  try {
    return decodeURIComponent(segment);
  } catch {
    return segment;
  }
}

function error(message: string): string {
  return JSON.stringify({ error: message });
}

function send(response: ServerResponse, status: number, body: string, type = 'text/plain'): void {
  response.writeHead(status, { 'content-type': type, 'content-length': Buffer.byteLength(body) });
  response.end(body);
}
