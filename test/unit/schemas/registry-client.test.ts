/** A fake registry, for what a real one does not answer on demand: refusals, a proxy's pages, silence, answers that break off. */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import { RegistryClient } from '../../../src/schemas/registry-client.ts';

type Handle = (request: IncomingMessage, response: ServerResponse) => void;
const closers: (() => void)[] = [];
afterEach(() => {
  for (const close of closers.splice(0)) close();
});

async function registry(handle: Handle): Promise<string> {
  const server = createServer(handle).listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  closers.push(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

function client(urls: readonly string[], authorization?: string): RegistryClient {
  const made = new RegistryClient({
    urls,
    authorization,
    tls: { ca: undefined, cert: undefined, key: undefined },
    timeoutMs: 300,
  });
  closers.push(() => made.close());
  return made;
}

const json =
  (status: number, body: unknown): Handle =>
  (_, response) =>
    void response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
/** Nothing listens there. */
const CLOSED = 'http://127.0.0.1:1';

describe('what an answer means', () => {
  const cases: { name: string; handle: Handle; code: string; failureClass: string; says: RegExp }[] = [
    {
      name: '401',
      handle: json(401, { error_code: 401 }),
      code: 'SCHEMA_REGISTRY_ACCESS_DENIED',
      failureClass: 'fatal',
      says: /answers 401: check KAFKA_SCHEMA_REGISTRY_USERNAME/,
    },
    {
      name: '403',
      handle: json(403, {}),
      code: 'SCHEMA_REGISTRY_ACCESS_DENIED',
      failureClass: 'fatal',
      says: /answers 403/,
    },
    {
      name: "a proxy's 404",
      handle: (_, response) => void response.writeHead(404).end('<html>no backend</html>'),
      code: 'SCHEMA_REGISTRY_UNAVAILABLE',
      failureClass: 'outage',
      says: /404 without an error code of a registry/,
    },
    {
      name: 'a 404 with another code',
      handle: json(404, { error_code: 404, message: 'HTTP 404 Not Found' }),
      code: 'SCHEMA_REGISTRY_UNAVAILABLE',
      failureClass: 'outage',
      says: /404 without/,
    },
    {
      name: '500',
      handle: json(500, { error_code: 50001 }),
      code: 'SCHEMA_REGISTRY_UNAVAILABLE',
      failureClass: 'outage',
      says: /answers 500/,
    },
    {
      name: '429',
      handle: json(429, {}),
      code: 'SCHEMA_REGISTRY_UNAVAILABLE',
      failureClass: 'outage',
      says: /answers 429/,
    },
    {
      name: 'a sign-in page with 200',
      handle: (_, response) => void response.end('<html>sign in</html>'),
      code: 'SCHEMA_REGISTRY_UNAVAILABLE',
      failureClass: 'outage',
      says: /answers 200/,
    },
    {
      name: 'silence',
      handle: () => {},
      code: 'SCHEMA_REGISTRY_UNAVAILABLE',
      failureClass: 'outage',
      says: /no answer within 300 ms/,
    },
    {
      name: 'an answer that breaks off',
      handle: (_, response) => {
        response.writeHead(200, { 'content-length': '100' });
        response.write('{"sch');
        setTimeout(() => response.destroy(), 20);
      },
      code: 'SCHEMA_REGISTRY_UNAVAILABLE',
      failureClass: 'outage',
      says: /schema registry http/,
    },
    {
      name: 'a language that nobody knows',
      handle: json(200, { schema: 'x', schemaType: 'THRIFT' }),
      code: 'SCHEMA_INVALID',
      failureClass: 'chunk',
      says: /none of AVRO, JSON, PROTOBUF/,
    },
  ];
  for (const { name, handle, code, failureClass, says } of cases) {
    it(`${name}: ${failureClass}`, async () => {
      const asked = client([await registry(handle)]).schemaById(7);
      await expect(asked).rejects.toMatchObject({ code, failureClass, message: expect.stringMatching(says) });
    });
  }

  it("only the registry's own 40403 makes an id unknown", async () => {
    expect(await client([await registry(json(404, { error_code: 40403 }))]).schemaById(7)).toBeUndefined();
  });
});

describe('several addresses', () => {
  it('asks the next when one is away, and stays with the one that answered', async () => {
    let asked = 0;
    const first = await registry((_, response) => {
      asked += 1;
      response.writeHead(503).end();
    });
    const registries = client([first, await registry(json(200, { schema: '"string"' }))]);
    for (let round = 0; round < 3; round++) expect(await registries.schemaById(7)).toMatchObject({ format: 'avro' });
    expect(asked).toBe(1);
  });

  it('names each that is away', async () => {
    await expect(client([CLOSED, await registry(json(502, {}))]).schemaById(7)).rejects.toThrowError(
      /127.0.0.1:1: ECONNREFUSED; schema registry http:.* answers 502/,
    );
  });

  it('does not ask the next one with credentials that one has refused', async () => {
    let asked = 0;
    const second = await registry(() => void asked++);
    await expect(client([await registry(json(401, {})), second]).schemaById(7)).rejects.toMatchObject({
      failureClass: 'fatal',
    });
    expect(asked).toBe(0);
  });
});

describe('requests', () => {
  it('carry what authorizes, and no error tells it', async () => {
    let seen: string | undefined;
    const url = await registry((request, response) => {
      seen = request.headers.authorization;
      response.writeHead(500).end();
    });
    const error: unknown = await client([url], 'Bearer zq-secret')
      .schemaById(7)
      .catch((thrown: unknown) => thrown);
    expect(seen).toBe('Bearer zq-secret');
    expect(JSON.stringify(error, Object.getOwnPropertyNames(error))).not.toContain('zq-secret');
  });

  it('keep the path of the address, and write subjects as one part of it', async () => {
    const paths: (string | undefined)[] = [];
    const url = await registry((request, response) => {
      paths.push(request.url);
      json(404, { error_code: 40401 })(request, response);
    });
    expect(await client([`${url}/apis/ccompat/v7/`]).latest('a/b-value')).toBeUndefined();
    expect(paths).toEqual(['/apis/ccompat/v7/subjects/a%2Fb-value/versions/latest']);
  });

  it('end with the signal', async () => {
    const url = await registry(() => {});
    const reason = new Error('stop');
    const stop = new AbortController();
    const asked = client([url]).schemaById(7, stop.signal);
    stop.abort(reason);
    await expect(asked).rejects.toBe(reason);
  });
});

describe('references', () => {
  const REF = { name: 'a', subject: 's', version: 1 };
  it('in a circle are a schema of no use', async () => {
    const url = await registry(json(200, { schema: '{}', references: [REF] }));
    await expect(client([url]).schemaById(7)).rejects.toMatchObject({ code: 'SCHEMA_INVALID', failureClass: 'chunk' });
  });
  it('to what does not exist as well', async () => {
    const url = await registry((request, response) =>
      request.url?.startsWith('/schemas')
        ? json(200, { schema: '{}', references: [REF] })(request, response)
        : json(404, { error_code: 40402 })(request, response),
    );
    await expect(client([url]).schemaById(7)).rejects.toThrowError(
      'schema 7 refers to version 1 of subject s, which does not exist',
    );
  });
});
