/** `rag-serving models` to a model server that asks for certificates: the settings are the worker's (F05). */
import { join } from 'node:path';
import { afterEach, expect, it } from 'vitest';
import { Authority, MountedSecret } from '../../support/certificates.ts';
import { startTlsGateway } from '../../support/tls-gateway.ts';
import { endPrograms, startEngine } from '../worker/harness.ts';
import { models, useFolder } from './model-commands.ts';

const MODEL = 'online_embedder_ensemble';
const folder = useFolder();
afterEach(endPrograms);

it('takes and checks over mutual TLS; another authority, or none, is exit code 1', async () => {
  const engine = await startEngine();
  const [ca, other] = [new Authority(), new Authority()];
  const gateway = await startTlsGateway({
    target: engine.target,
    pair: ca.issue('models.test'),
    clientAuthority: ca.cert,
    apiKey: undefined,
  });
  const [secret, wrong] = [ca, other].map(({ cert }) => new MountedSecret({ ca: cert, ...ca.issue('client.test') }));
  const settings = (files: MountedSecret) => ({
    RAG_SERVING_GRPC_TLS_ENABLED: 'true',
    RAG_SERVING_GRPC_CA_CERT_PATH: files.path('ca'),
    RAG_SERVING_GRPC_CLIENT_CERT_PATH: files.path('cert'),
    RAG_SERVING_GRPC_CLIENT_KEY_PATH: files.path('key'),
    RAG_SERVING_GRPC_SERVER_NAME_OVERRIDE: 'models.test',
  });
  const golden = join(folder(), 'golden.json');
  const to = ['--url', `127.0.0.1:${gateway.port}`, '--model', MODEL];
  try {
    const taken = await models(['golden', ...to, '--output', golden], settings(secret!));
    expect(taken.code, taken.output).toBe(0);
    const check = ['check', ...to, '--golden', golden, '--json', '--wait', '1s'];
    expect((await models(check, settings(secret!))).code).toBe(0);
    expect(gateway.connected).toEqual(['client.test', 'client.test']);

    const untrusted = await models(check, settings(wrong!));
    expect(untrusted).toMatchObject({ code: 1, report: { outcome: 'unchecked' } });
    expect(untrusted.report?.reasons.join()).toContain('authority');
    expect((await models(check)).code).toBe(1);
  } finally {
    gateway.close();
    for (const one of [secret!, wrong!]) one.remove();
    for (const one of [ca, other]) one.remove();
  }
});
