/** The watch when there is nobody to ask, or nobody worth listening to; and the operator's own hooks. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import http from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { askMetadata } from '../../../src/spot/metadata-request.ts';
import { startAws } from '../../support/metadata/clouds.ts';
import { type LocalServer, startLocalServer, type Trouble } from '../../support/metadata/local-server.ts';
import { endWatches, until, watchAt } from './watching.ts';

afterEach(endWatches);

const NOBODY = 'http://127.0.0.1:1';
const CANNOT = 'spot notices cannot be read; asking again';

describe('a metadata server in trouble', () => {
  it.for<[name: string, trouble: Trouble]>([
    ['answers 500', { status: 500, body: 'oops' }],
    ['answers 404 to everything, being another cloud’s', { status: 404 }],
    ['redirects', { status: 302, headers: { location: 'http://127.0.0.1:1/' } }],
    ['says far too much', { status: 200, body: 'x'.repeat(100_000) }],
    ['is silent', 'silent'],
  ])('%s: one warning a document, asked on, and the notice is read when it is well again', async ([, trouble]) => {
    const aws = await startAws();
    try {
      aws.server.trouble = trouble;
      const watched = watchAt({ provider: 'aws', url: aws.server.url });
      await watched.watch.looked;
      const asked = aws.server.asked.length;
      await until('asked on', () => aws.server.asked.length > asked);
      expect(watched.at('warn')).toEqual([CANNOT, CANNOT]);
      aws.instanceAction = JSON.stringify({ action: 'terminate', time: new Date().toISOString() });
      aws.server.trouble = undefined;
      await until('a notice', () => watched.notices.length > 0);
      await until('the trouble is over', () => watched.at('info').length === 2);
      expect(watched.at('warn')).toEqual([CANNOT, CANNOT]);
    } finally {
      endWatches();
      await aws.server.close();
    }
  });

  it('nobody is there: the first look is over all the same', async () => {
    for (const provider of ['aws', 'gcp', 'azure'] as const) {
      const watched = watchAt({ provider, url: NOBODY });
      await watched.watch.looked;
      expect(new Set(watched.at('warn')), provider).toEqual(new Set([CANNOT]));
    }
  });

  it('a stopped watch asks no more, and tells of no trouble', async () => {
    const aws = await startAws();
    aws.server.trouble = 'silent';
    const watched = watchAt({ provider: 'aws', url: aws.server.url });
    await until('asked', () => aws.server.asked.length > 0);
    watched.watch.stop();
    await watched.watch.looked;
    expect(watched.lines).toEqual([]);
    await aws.server.close();
  });

  it('an answer that is no documented shape warns once, however often it comes', async () => {
    const aws = await startAws();
    aws.instanceAction = '<html>';
    const watched = watchAt({ provider: 'aws', url: aws.server.url });
    await until('some rounds', () => aws.server.asked.length > 8);
    expect(watched.at('warn')).toEqual(['a spot notice was not understood']);
    expect(JSON.stringify(watched.lines)).not.toContain('<html>');
    await aws.server.close();
  });
});

describe('asking', () => {
  it('does not take the common agent, which newer Node can be told to send through a proxy', async () => {
    const server = await startLocalServer(() => ({ status: 204 }));
    const common = http.globalAgent;
    http.globalAgent = Object.assign(new http.Agent(), {
      createConnection: () => {
        throw new Error('through the proxy');
      },
    });
    try {
      const answer = await askMetadata(new URL(server.url), { timeoutMs: 5_000 }, AbortSignal.timeout(10_000));
      expect(answer.status).toBe(204);
    } finally {
      http.globalAgent = common;
      await server.close();
    }
  });

  it('ends with the reason of the signal, or with an error that names the server', async () => {
    const server = await startLocalServer(() => new Promise<never>(() => {}));
    const abort = new AbortController();
    const asked = askMetadata(new URL(server.url), { timeoutMs: 60_000 }, abort.signal);
    const reason = new Error('enough');
    abort.abort(reason);
    await expect(asked).rejects.toBe(reason);
    await expect(askMetadata(new URL(server.url), { timeoutMs: 50 }, new AbortController().signal)).rejects.toThrow(
      /no answer within 50 ms from 127\.0\.0\.1/,
    );
    await server.close();
  });
});

describe('the file hook', () => {
  let folder: string;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'rag-spot-'));
  });
  afterEach(() => rmSync(folder, { recursive: true, force: true }));

  it('is a notice when it appears, and a nearer end when its text has arrived', async () => {
    const path = join(folder, 'evict');
    const watched = watchAt({ provider: 'file', path });
    await watched.watch.looked;
    expect(watched.notices).toEqual([]);
    writeFileSync(path, '');
    await until('a notice', () => watched.notices.length === 1);
    writeFileSync(path, '{"left_ms":20000}');
    await until('its end', () => watched.notices.length === 2);
    expect(watched.notices).toEqual([
      { news: 'new', notice: { kind: 'interruption', leftMs: undefined } },
      { news: 'sooner', notice: { kind: 'interruption', leftMs: 20_000 } },
    ]);
    expect(watched.lines).toEqual([]);
  });

  it('a folder in its place is no notice, and one warning', async () => {
    const watched = watchAt({ provider: 'file', path: folder });
    await watched.watch.looked;
    expect(watched.notices).toEqual([]);
    expect(watched.at('warn')).toEqual([CANNOT]);
  });

  it('a folder that is not there yet is no trouble', async () => {
    const watched = watchAt({ provider: 'file', path: join(folder, 'mounted', 'later', 'evict') });
    await watched.watch.looked;
    expect(watched.lines).toEqual([]);
  });
});

describe('the URL hook', () => {
  let status = 404;
  let server: LocalServer;
  beforeEach(async () => {
    status = 404;
    server = await startLocalServer(() => ({ status, body: status === 200 ? '{"left_ms":9000}' : '' }));
  });
  afterEach(() => server.close());

  it('answers 404 and 204 until it answers 200', async () => {
    const watched = watchAt({ provider: 'url', url: `${server.url}/evict?node=7` });
    await watched.watch.looked;
    status = 204;
    const asked = server.asked.length;
    await until('asked on', () => server.asked.length > asked);
    expect(watched.notices).toEqual([]);
    status = 200;
    await until('a notice', () => watched.notices.length > 0);
    expect(watched.notices[0]!.notice).toEqual({ kind: 'interruption', leftMs: 9_000 });
    expect(server.asked[0]).toMatchObject({ path: '/evict', method: 'GET' });
    expect(server.asked[0]!.query.get('node')).toBe('7');
    expect(watched.lines).toEqual([]);
  });
});
