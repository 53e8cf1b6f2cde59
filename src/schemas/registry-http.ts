/** One request to a schema registry over HTTP. node:http, because Node's fetch takes no authorities or client certificate of ours. */
import { Agent as HttpAgent, type RequestOptions, request as requestHttp } from 'node:http';
import { Agent as HttpsAgent, request as requestHttps } from 'node:https';
import { ServingError } from '../errors.ts';

export type RegistryAccess = {
  /** The whole header; undefined for none. */
  readonly authorization: string | undefined;
  /** PEM texts; an undefined `ca` means the authorities that Node brings. */
  readonly tls: {
    readonly ca: string | undefined;
    readonly cert: string | undefined;
    readonly key: string | undefined;
  };
  /** Of one request to one registry, from connecting to the last byte. */
  readonly timeoutMs: number;
};

export type RegistryCall = { readonly method: 'GET' | 'POST'; readonly path: string; readonly body?: object };
export type RegistryAnswer = { readonly status: number; readonly body: unknown };

const MEDIA_TYPE = 'application/vnd.schemaregistry.v1+json';
const MAX_ANSWER_BYTES = 16 * 1_048_576;

export class RegistryHttp {
  readonly #access: RegistryAccess;
  readonly #http = new HttpAgent({ keepAlive: true, maxSockets: 4 });
  readonly #https: HttpsAgent;

  constructor(access: RegistryAccess) {
    this.#access = access;
    const { ca, cert, key } = access.tls;
    const own = {
      ...(ca !== undefined && { ca }),
      ...(cert !== undefined && { cert }),
      ...(key !== undefined && { key }),
    };
    this.#https = new HttpsAgent({ keepAlive: true, maxSockets: 4, ...own });
  }

  /** Any answer that came whole. Throws SCHEMA_REGISTRY_UNAVAILABLE for everything else. */
  async call(base: string, { method, path, body }: RegistryCall, signal?: AbortSignal): Promise<RegistryAnswer> {
    const url = new URL(`${base.replace(/\/+$/, '')}${path}`);
    const deadline = AbortSignal.timeout(this.#access.timeoutMs);
    const sent = body === undefined ? undefined : JSON.stringify(body);
    const options: RequestOptions = {
      method,
      signal: signal === undefined ? deadline : AbortSignal.any([signal, deadline]),
      agent: url.protocol === 'https:' ? this.#https : this.#http,
      headers: {
        accept: `${MEDIA_TYPE}, application/json`,
        ...(sent !== undefined && { 'content-type': MEDIA_TYPE, 'content-length': Buffer.byteLength(sent) }),
        ...(this.#access.authorization !== undefined && { authorization: this.#access.authorization }),
      },
    };
    try {
      return await exchange(url, options, sent);
    } catch (error) {
      signal?.throwIfAborted();
      const why = deadline.aborted ? `no answer within ${this.#access.timeoutMs} ms` : reasonOf(error);
      throw new ServingError('SCHEMA_REGISTRY_UNAVAILABLE', `schema registry ${url.origin}: ${why}`, { cause: error });
    }
  }

  close(): void {
    this.#http.destroy();
    this.#https.destroy();
  }
}

function exchange(url: URL, options: RequestOptions, sent: string | undefined): Promise<RegistryAnswer> {
  const request = url.protocol === 'https:' ? requestHttps : requestHttp;
  return new Promise((resolve, reject) => {
    const call = request(url, options, (response) => {
      const parts: Buffer[] = [];
      let bytes = 0;
      response.on('data', (part: Buffer) => {
        bytes += part.byteLength;
        if (bytes > MAX_ANSWER_BYTES) call.destroy(new Error(`answers more than ${MAX_ANSWER_BYTES} bytes`));
        else parts.push(part);
      });
      response.on('error', reject);
      response.on('end', () => {
        if (!response.complete) return reject(new Error('the answer broke off'));
        resolve({ status: response.statusCode ?? 0, body: parsed(Buffer.concat(parts)) });
      });
    });
    call.on('error', reject);
    call.end(sent);
  });
}

/** Undefined for what is no JSON, such as the page of a proxy. */
function parsed(bytes: Buffer): unknown {
  try {
    return JSON.parse(bytes.toString('utf8'));
  } catch {
    return undefined;
  }
}

function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return 'the request failed';
  const { code } = error as { code?: unknown };
  return typeof code === 'string' ? `${code}` : error.message.slice(0, 200);
}
