import { Validator } from '@seriousme/openapi-schema-validator';
import { afterEach, describe, expect, it } from 'vitest';
import { createApp } from '../../../src/ops/app.ts';
import { documentOf, type OpenApiDocument } from '../../../src/ops/openapi.ts';
import { answers, closeServers, fetchRaw, start } from './ops-fixture.ts';

afterEach(closeServers);

async function makeDocument(): Promise<OpenApiDocument> {
  const app = await createApp(answers());
  await app.ready();
  const document = documentOf(app);
  await app.close();
  return document;
}

describe('the OpenAPI document', () => {
  it('is valid by the official schema of OpenAPI 3.1', async () => {
    const validator = new Validator();
    const result = await validator.validate(structuredClone(await makeDocument()));
    expect(result).toEqual({ valid: true });
    expect(validator.version).toBe('3.1');
  });

  it('equals docs/openapi.json (write it again with `make docs`)', async () => {
    const text = `${JSON.stringify(await makeDocument(), null, 2)}\n`;
    await expect(text).toMatchFileSnapshot('../../../docs/openapi.json');
  });

  it('is what the server gives out', async () => {
    const { port } = await start();
    expect(JSON.parse((await fetchRaw(port, '/openapi.json')).body)).toEqual(await makeDocument());
  });

  it('describes every route, each with an answer to a refusal in the one error schema', async () => {
    const { paths } = (await makeDocument()) as { paths?: Record<string, { get: { responses: object } }> };
    expect(Object.keys(paths ?? {})).toEqual([
      '/healthz',
      '/ready',
      '/metrics',
      '/status',
      '/events',
      '/',
      '/openapi.json',
    ]);
    for (const { get } of Object.values(paths ?? {})) {
      for (const kind of ['4XX', '5XX']) {
        expect(get.responses).toMatchObject({
          [kind]: { content: { 'application/json': { schema: { $ref: '#/components/schemas/Error' } } } },
        });
      }
    }
  });

  it.each([
    ['/docs/json', '..'],
    ['/api/docs/json', '../..'],
    ['/openapi.json', '.'],
  ])(
    '%s names the root of the server relative to itself, so that a path prefix may stand before it',
    async (path, root) => {
      const { port } = await start();
      const { servers } = JSON.parse((await fetchRaw(port, path)).body);
      expect(servers).toEqual([{ url: root }]);
      expect(new URL(servers[0].url, `http://host/prefix${path}`).pathname).toBe('/prefix/');
    },
  );
});

describe.each(['/docs', '/api/docs'])('the page %s', (page) => {
  it('is sent on to its trailing slash by a relative address', async () => {
    const { port } = await start();
    const { status, headers } = await fetchRaw(port, page);
    expect({ status, location: headers.location }).toEqual({ status: 302, location: 'docs/' });
  });

  it('takes all its files from this server, by relative addresses', async () => {
    const { port } = await start();
    const { body, headers } = await fetchRaw(port, `${page}/`);
    const files = Array.from(body.matchAll(/(?:src|href)="([^"]+)"/g), ([, address]) => address ?? '');
    expect(files.length).toBeGreaterThan(4);
    for (const file of files) {
      expect(file).toMatch(/^\.\/static\//);
      const { status } = await fetchRaw(port, `${page}/${file.slice(2)}`);
      expect(status, file).toBe(200);
    }
    expect(headers['content-security-policy']).toContain("connect-src 'self'");
  });
});
