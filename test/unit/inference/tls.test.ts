import { execFileSync } from 'node:child_process';
import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ServerCredentials } from '@grpc/grpc-js';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { isServingError } from '../../../src/errors.ts';
import { createGrpcInferenceClient } from '../../../src/inference/grpc-client.ts';
import { readTlsFiles, type TlsFiles } from '../../../src/inference/tls.ts';
import { startFakeServer } from './fake-server.ts';

const folder = mkdtempSync(join(tmpdir(), 'rag-tls-'));
const at = (name: string) => join(folder, name);
const ca = (name: string) => ({ setting: 'RAG_SERVING_GRPC_CA_CERT_PATH', path: at(name) });
const cert = (name: string) => ({ setting: 'RAG_SERVING_GRPC_CLIENT_CERT_PATH', path: at(name) });
const key = (name: string) => ({ setting: 'RAG_SERVING_GRPC_CLIENT_KEY_PATH', path: at(name) });

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
  writeFileSync(at('empty.pem'), ' \n');
  writeFileSync(at('text.pem'), 'hello SENTINEL');
  writeFileSync(at('broken.crt'), '-----BEGIN CERTIFICATE-----\nSENTINEL\n-----END CERTIFICATE-----\n');
  writeFileSync(at('broken.key'), '-----BEGIN PRIVATE KEY-----\nSENTINEL\n-----END PRIVATE KEY-----\n');
  chmodSync(at('server.key'), 0o600);
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

describe('TLS files are checked at start (F05)', () => {
  const cases: { name: string; files: () => TlsFiles; message: RegExp }[] = [
    {
      name: 'a CA file that is missing',
      files: () => ({ ca: ca('none.crt') }),
      message: /^RAG_SERVING_GRPC_CA_CERT_PATH: .*none\.crt does not exist/,
    },
    { name: 'an empty CA file', files: () => ({ ca: ca('empty.pem') }), message: /empty\.pem is empty/ },
    {
      name: 'a CA file that is no PEM',
      files: () => ({ ca: ca('text.pem') }),
      message: /text\.pem holds no PEM certificate/,
    },
    {
      name: 'a key where a certificate belongs',
      files: () => ({ ca: ca('client.key') }),
      message: /holds no PEM certificate/,
    },
    {
      name: 'a broken certificate',
      files: () => ({ ca: ca('broken.crt') }),
      message: /certificate that cannot be read/,
    },
    { name: 'a directory', files: () => ({ ca: ca('.') }), message: /is a directory, not a file/ },
    {
      name: 'a certificate without its key',
      files: () => ({ cert: cert('client.crt') }),
      message: /CLIENT_CERT_PATH: .* is set alone/,
    },
    {
      name: 'a key without its certificate',
      files: () => ({ key: key('client.key') }),
      message: /CLIENT_KEY_PATH: .* is set alone/,
    },
    {
      name: 'a key of another certificate',
      files: () => ({ cert: cert('client.crt'), key: key('other.key') }),
      message: /CLIENT_KEY_PATH: .*other\.key is not the key of the certificate in RAG_SERVING_GRPC_CLIENT_CERT_PATH/,
    },
    {
      name: 'a broken key',
      files: () => ({ cert: cert('client.crt'), key: key('broken.key') }),
      message: /private key that cannot be read/,
    },
    {
      name: 'a certificate where a key belongs',
      files: () => ({ cert: cert('client.crt'), key: key('client.crt') }),
      message: /no PEM private key/,
    },
  ];
  for (const { name, files, message } of cases) {
    it(`refuses ${name} by setting and path`, () => {
      const read = () => readTlsFiles(files());
      expect(read).toThrow(message);
      expect(read).toThrow(
        expect.toSatisfy(
          (error: unknown) => isServingError(error, 'CONFIG_INVALID') && !/SENTINEL/.test(error.message),
        ),
      );
    });
  }

  it('takes a matching pair', () => {
    const material = readTlsFiles({ ca: ca('server.crt'), cert: cert('client.crt'), key: key('client.key') });
    expect(material.cert).toEqual(readFileSync(at('client.crt')));
  });
});

describe('TLS connections', () => {
  const serverLive = () => ({ live: true });
  const pair = () => [{ private_key: readFileSync(at('server.key')), cert_chain: readFileSync(at('server.crt')) }];
  const connect = (target: string, tls: TlsFiles) =>
    createGrpcInferenceClient({ target, targetSetting: 'X', receiveLimitBytes: 1 << 20, tls });

  it('mutual TLS with the name of the server overridden', async () => {
    const credentials = ServerCredentials.createSsl(readFileSync(at('client.crt')), pair(), true);
    const server = await startFakeServer({ serverLive }, { credentials });
    const files = { ca: ca('server.crt'), serverName: 'triton.test' };
    const known = connect(server.target, { ...files, cert: cert('client.crt'), key: key('client.key') });
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
      connect(server.target, { ca: ca('server.crt'), serverName: 'elsewhere.test' }),
      connect(server.target, { ca: ca('other.crt'), serverName: 'triton.test' }),
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
