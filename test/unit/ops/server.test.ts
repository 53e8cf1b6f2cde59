import { Agent, get as httpGet } from 'node:http';
import { createServer } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import { isServingError } from '../../../src/errors.ts';
import type { Phase } from '../../../src/lifecycle/phase.ts';
import { createMetrics } from '../../../src/telemetry/metrics.ts';
import { closeServers, fetchRaw, start } from './ops-fixture.ts';

afterEach(closeServers);

describe('readiness and liveness', () => {
  it('during a drain readiness is 503 and everything else still answers (L08)', async () => {
    let phase: Phase = 'running';
    const { port } = await start({
      snapshot: () => ({ phase, checks: [{ name: 'kafka', state: 'pass', reason: undefined, sinceMs: 0 }] }),
    });
    const statuses = async () =>
      Promise.all(
        ['/healthz', '/ready', '/metrics', '/status', '/openapi.json', '/docs/'].map(
          async (path) => (await fetchRaw(port, path)).status,
        ),
      );
    expect(await statuses()).toEqual([200, 200, 200, 200, 200, 200]);
    phase = 'draining';
    expect(await statuses()).toEqual([200, 503, 200, 200, 200, 200]);
  });

  it('liveness is 503, with the reason, only for what another process would heal', async () => {
    let reason: string | undefined;
    const { port } = await start({ stalled: () => reason, redact: (text) => text.replace('secret', '[redacted]') });
    expect(await fetchRaw(port, '/healthz')).toMatchObject({ status: 200, body: '{"status":"alive"}' });
    reason = 'nothing moves, secret';
    const { status, body } = await fetchRaw(port, '/healthz');
    expect({ status, body: JSON.parse(body) }).toEqual({
      status: 503,
      body: { status: 'stalled', reason: 'nothing moves, [redacted]' },
    });
  });

  it('names the failing check, its reason and since when', async () => {
    const { port } = await start({
      snapshot: () => ({
        phase: 'running',
        checks: [{ name: 'sink', state: 'fail', reason: 'redis://u:[redacted]@h refused', sinceMs: 1_000 }],
      }),
      redact: (text) => text.replace('refused', 'REFUSED'),
    });
    const answer = await fetchRaw(port, '/ready');
    expect(answer.status).toBe(503);
    expect(JSON.parse(answer.body)).toEqual({
      status: 'not_ready',
      phase: 'running',
      checks: [
        {
          name: 'sink',
          state: 'fail',
          ok: false,
          reason: 'redis://u:[redacted]@h REFUSED',
          since: '1970-01-01T00:00:01.000Z',
        },
      ],
    });
  });

  it('is not ready when the snapshot itself fails', async () => {
    const { port } = await start({
      snapshot: () => {
        throw new Error('SENTINEL');
      },
    });
    const answer = await fetchRaw(port, '/ready');
    expect(answer.status).toBe(503);
    expect(answer.body).not.toContain('SENTINEL');
  });
});

describe.each(['/metrics', '/status'])('access to %s (M07)', (path) => {
  const right = [
    ['Authorization', 'Bearer s3cret'],
    ['Authorization', 'bearer s3cret'],
    ['Authorization', 'BEARER  s3cret'],
    ['X-API-Key', 's3cret'],
    ['x-api-key', 's3cret', 'authorization', 'Bearer s3cret'],
  ];
  const wrong = [
    [],
    ['Authorization', 'Basic s3cret'],
    ['Authorization', 'Bearer S3CRET'],
    ['Authorization', 'Bearer s3cre'],
    ['Authorization', 'Bearer s3cretX'],
    ['Authorization', 'Bearer '],
    ['Authorization', 's3cret'],
    ['Authorization', 'Bearer s3cret', 'Authorization', 'Bearer s3cret'],
    ['Authorization', 'Bearer s3cret', 'Authorization', 'Bearer wrong'],
    ['X-API-Key', 's3cret', 'Authorization', 'Bearer wrong'],
    ['X-API-Key', ''],
    ['Authorization', `Bearer ${'x'.repeat(100_000)}`],
  ];
  for (const headers of right) {
    it(`lets in ${headers.join(' ')}`, async () => {
      const { port } = await start({ apiKey: 's3cret' });
      const answer = await fetchRaw(port, path, headers);
      expect(answer.status).toBe(200);
    });
  }
  for (const headers of wrong) {
    it(`refuses ${headers.join(' ').slice(0, 60) || 'no credentials'}`, async () => {
      const { port } = await start({ apiKey: 's3cret' });
      const answer = await fetchRaw(port, path, headers);
      expect(answer.status).toBe(401);
      expect(answer.headers['www-authenticate']).toMatch(/^Bearer/);
      expect(answer.body).not.toContain('s3cret');
    });
  }

  it('keeps the health routes open', async () => {
    const { port } = await start({ apiKey: 's3cret' });
    expect((await fetchRaw(port, '/healthz')).status).toBe(200);
    expect((await fetchRaw(port, '/ready')).status).toBe(200);
  });
});

describe('unknown requests', () => {
  it('200 unknown URLs and odd methods change no series and are not quoted (M06)', async () => {
    const metrics = createMetrics({ pool: 'batch_ingestion' });
    const { port } = await start({ metrics });
    const namesOf = async () => (await metrics.render()).text.split('\n').map((line) => line.split(' ')[0]);
    const before = await namesOf();
    const methods = ['POST', 'PUT', 'DELETE', 'PATCH', 'OPTIONS', 'PROPFIND', 'LOCK', 'PURGE', 'SEARCH', 'REPORT'];
    for (let index = 0; index < 200; index++) {
      const answer = await fetchRaw(port, `/x/${index}`, [], methods[index % methods.length]);
      expect(answer.status).toBe(404);
      expect(answer.body).not.toContain(`/x/${index}`);
      expect(JSON.parse(answer.body).error.code).toBe('not_found');
    }
    expect(await namesOf()).toEqual(before);
  });

  it('answers a malformed URL in the same schema, without quoting it', async () => {
    const { port } = await start();
    const answer = await fetchRaw(port, '/%E0%A4%A/SENTINEL');
    expect(answer.status).toBe(400);
    expect(JSON.parse(answer.body).error.code).toBe('bad_request');
    expect(answer.body).not.toContain('SENTINEL');
  });

  it('hides why a scrape failed', async () => {
    const broken = { render: () => Promise.reject(new Error('pw-SENTINEL')) };
    const { port } = await start({ metrics: broken });
    const answer = await fetchRaw(port, '/metrics');
    expect(answer.status).toBe(500);
    expect(answer.body).not.toContain('SENTINEL');
  });
});

describe('closing and binding', () => {
  it('an idle keep-alive connection does not hold close', async () => {
    const server = await start();
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    await fetchRaw(server.port, '/healthz', [], 'GET', agent);
    const began = performance.now();
    await server.close();
    await server.close();
    expect(performance.now() - began).toBeLessThan(900);
    agent.destroy();
  });

  it('a scrape that never ends is cut off', async () => {
    const server = await start({ metrics: { render: () => new Promise<never>(() => {}) } });
    const ended = new Promise((resolve) => {
      httpGet({ host: '127.0.0.1', port: server.port, path: '/metrics' }).on('error', resolve);
    });
    await new Promise((resolve) => setTimeout(resolve, 50));
    await server.close();
    expect(await ended).toBeInstanceOf(Error);
  });

  it('starts again after it was closed, in the same process (M12)', async () => {
    const first = await start();
    await first.close();
    const second = await start();
    expect((await fetchRaw(second.port, '/metrics')).status).toBe(200);
  });

  it('a taken port names the setting', async () => {
    const other = createServer();
    const port = await new Promise<number>((resolve) => {
      other.listen(0, '127.0.0.1', () => resolve((other.address() as { port: number }).port));
    });
    const failure = await start({ port }).catch((error: unknown) => error);
    other.close();
    expect(isServingError(failure, 'CONFIG_INVALID')).toBe(true);
    expect(String(failure)).toMatch(/port is taken; set another RAG_SERVING_SERVER_PORT/);
  });
});
