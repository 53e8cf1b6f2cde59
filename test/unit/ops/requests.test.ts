/** What the ops server makes of requests that are not as they should be. */
import { connect, type Socket } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import { errorSchema } from '../../../src/ops/answer-schemas.ts';
import { closeServers, fetchRaw, start } from './ops-fixture.ts';

const sockets: Socket[] = [];
afterEach(async () => {
  for (const socket of sockets.splice(0)) socket.destroy();
  await closeServers();
});

/** What comes back until the other side closes. */
function exchange(port: number, bytes: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connect(port, '127.0.0.1', () => socket.write(bytes, 'latin1'));
    sockets.push(socket);
    let answer = '';
    socket.on('data', (part) => (answer += part.toString('latin1')));
    socket.on('close', () => resolve(answer));
    socket.on('error', (error: NodeJS.ErrnoException) =>
      error.code === 'ECONNRESET' ? resolve(answer) : reject(error),
    );
  });
}

function errorIn(answer: string): { readonly status: number; readonly code: string } {
  const [head = '', body = ''] = answer.split('\r\n\r\n', 2);
  return { status: Number(head.split(' ')[1]), code: errorSchema.parse(JSON.parse(body)).error.code };
}

describe('methods', () => {
  it.each(['POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'PROPFIND', 'QUERY'])(
    '%s of a path that exists is 405, and the answer says what is allowed',
    async (method) => {
      const { port } = await start();
      for (const path of ['/healthz', '/ready/', '/metrics?x=1', '/docs', '/docs/static/swagger-ui.css']) {
        const { status, headers, body } = await fetchRaw(port, path, [], method);
        expect({ path, status, allow: headers.allow }).toEqual({ path, status: 405, allow: 'GET, HEAD' });
        expect(errorSchema.parse(JSON.parse(body)).error.code).toBe('method_not_allowed');
      }
    },
  );

  it('HEAD answers as GET does, without a body', async () => {
    const { port } = await start();
    for (const path of ['/healthz', '/ready', '/metrics', '/status', '/openapi.json']) {
      const { status, body } = await fetchRaw(port, path, [], 'HEAD');
      expect({ path, status, body }).toEqual({ path, status: 200, body: '' });
    }
  });
});

describe('bodies', () => {
  it('a small one is not read, whatever its type says, and costs the connection', async () => {
    const { port } = await start();
    const answer = await exchange(
      port,
      'GET /healthz HTTP/1.1\r\nhost: a\r\ncontent-type: application/json\r\ncontent-length: 4\r\n\r\n{bad',
    );
    expect(answer).toMatch(/^HTTP\/1\.1 200 /);
    expect(answer).toMatch(/\r\nconnection: close\r\n/);
  });

  it('one that says it is long is refused before it arrives', async () => {
    const { port } = await start();
    const answer = await exchange(port, 'GET /ready HTTP/1.1\r\nhost: a\r\ncontent-length: 5000000000\r\n\r\n');
    expect(errorIn(answer)).toEqual({ status: 413, code: 'too_large' });
  });

  it('one of unknown length is answered without it', async () => {
    const { port } = await start();
    const answer = await exchange(port, 'GET /ready HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked\r\n\r\nff\r\nx');
    expect(answer).toMatch(/^HTTP\/1\.1 200 /);
  });
});

describe('bytes that are no request', () => {
  it.each([
    ['noise', '\x00\x01\x02\r\n\r\n', 400, 'bad_request'],
    ['another protocol', 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n', 400, 'bad_request'],
    ['a header without a name', 'GET / HTTP/1.1\r\n: x\r\n\r\n', 400, 'bad_request'],
    ['two lengths', 'GET / HTTP/1.1\r\nhost: a\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\nx', 400, 'bad_request'],
    ['headers without end', `GET / HTTP/1.1\r\nhost: a\r\nx: ${'y'.repeat(200_000)}`, 431, 'too_large'],
  ])('%s', async (_name, bytes, status, code) => {
    const { port } = await start();
    expect(errorIn(await exchange(port, bytes))).toEqual({ status, code });
  });
});

describe('answers', () => {
  it('say to browsers that they may do nothing with them', async () => {
    const { port } = await start();
    for (const path of ['/healthz', '/ready', '/metrics', '/status', '/nope', '/openapi.json']) {
      const { headers } = await fetchRaw(port, path);
      expect(headers, path).toMatchObject({
        'content-security-policy': expect.stringMatching(/^default-src 'none'/),
        'x-content-type-options': 'nosniff',
        'x-frame-options': 'DENY',
        'referrer-policy': 'no-referrer',
        'cache-control': 'no-store',
      });
      expect(headers['strict-transport-security'], path).toBeUndefined();
      expect(headers['x-powered-by'], path).toBeUndefined();
    }
  });

  it('hide why a snapshot failed, and tell the log', async () => {
    const faults: unknown[] = [];
    const failure = new Error('pw-SENTINEL');
    const { port } = await start({
      status: () => {
        throw failure;
      },
      onFault: (error) => void faults.push(error),
    });
    const { status, body } = await fetchRaw(port, '/status');
    expect({ status, code: errorSchema.parse(JSON.parse(body)).error.code }).toEqual({ status: 500, code: 'internal' });
    expect(body).not.toContain('SENTINEL');
    expect(faults).toEqual([failure]);
  });
});
