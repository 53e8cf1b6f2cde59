import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ServerCredentials } from '@grpc/grpc-js';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { ChannelTls } from '../../../src/inference/connection.ts';
import { createGrpcInferenceClient } from '../../../src/inference/grpc-client.ts';
import { startFakeServer } from './fake-server.ts';

const folder = mkdtempSync(join(tmpdir(), 'rag-tls-'));
const at = (name: string) => join(folder, name);
const text = (name: string) => readFileSync(at(name), 'utf8');
const none = { ca: undefined, cert: undefined, key: undefined, serverName: undefined };

function selfSigned(name: string, host: string, ...extra: string[]): void {
  const args = ['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes'];
  const files = ['-keyout', at(`${name}.key`), '-out', at(`${name}.crt`)];
  const subject = ['-subj', `/CN=${host}`, '-addext', `subjectAltName=DNS:${host}`];
  execFileSync('openssl', [...args, ...files, ...subject, ...extra], { stdio: 'ignore' });
}

beforeAll(() => {
  selfSigned('server', 'triton.test', '-days', '2');
  selfSigned('client', 'worker.test', '-days', '2');
  selfSigned('other', 'other.test', '-days', '2');
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

describe('TLS connections', () => {
  const serverLive = () => ({ live: true });
  const pair = () => [{ private_key: readFileSync(at('server.key')), cert_chain: readFileSync(at('server.crt')) }];
  const connect = (target: string, tls: Partial<ChannelTls>) =>
    createGrpcInferenceClient({ target, targetSetting: 'X', receiveLimitBytes: 1 << 20, tls: { ...none, ...tls } });

  it('mutual TLS with the name of the server overridden', async () => {
    const credentials = ServerCredentials.createSsl(readFileSync(at('client.crt')), pair(), true);
    const server = await startFakeServer({ serverLive }, { credentials });
    const files = { ca: text('server.crt'), serverName: 'triton.test' };
    const known = connect(server.target, { ...files, cert: text('client.crt'), key: text('client.key') });
    const stranger = connect(server.target, files);
    try {
      expect(await known.serverLive({ timeoutMs: 3_000 })).toBe(true);
      await expect(stranger.serverLive({ timeoutMs: 3_000 })).rejects.toMatchObject({ code: 'INFERENCE_UNAVAILABLE' });
    } finally {
      known.close();
      stranger.close();
      server.stop();
    }
  });

  it('a server of another name or of an unknown CA is an outage that says TLS (F05)', async () => {
    const server = await startFakeServer({ serverLive }, { credentials: ServerCredentials.createSsl(null, pair()) });
    const clients = [
      connect(server.target, { ca: text('server.crt'), serverName: 'elsewhere.test' }),
      connect(server.target, { ca: text('other.crt'), serverName: 'triton.test' }),
    ];
    try {
      for (const client of clients) {
        await expect(client.serverLive({ timeoutMs: 3_000 })).rejects.toMatchObject({
          code: 'INFERENCE_UNAVAILABLE',
          message: expect.stringContaining('TLS to the server failed'),
        });
      }
    } finally {
      for (const client of clients) client.close();
      server.stop();
    }
  });
});
