/** The sidecar beside a Triton that asks for certificates, while its files are rotated (F05). */
import { afterEach, expect, it } from 'vitest';
import { killAllPrograms } from '../../../scripts/stack/program.ts';
import { Authority, MountedSecret } from '../../support/certificates.ts';
import { startTlsGateway } from '../../support/tls-gateway.ts';
import { eventually, startEngine } from '../worker/harness.ts';
import { startSidecar } from './sidecar.ts';

afterEach(killAllPrograms);

it('goes on with the new certificate, without a start anew', async () => {
  const engine = await startEngine();
  const ca = new Authority();
  const gateway = await startTlsGateway({
    target: engine.target,
    pair: ca.issue('models.test'),
    clientAuthority: ca.cert,
    apiKey: undefined,
  });
  const secret = new MountedSecret({ ca: ca.cert, ...ca.issue('first.test') });
  try {
    const sidecar = await startSidecar({
      RAG_SERVING_TRITON_GRPC_URL: `127.0.0.1:${gateway.port}`,
      RAG_SERVING_TRITON_HTTP_URL: 'http://127.0.0.1:1',
      RAG_SERVING_GRPC_TLS_ENABLED: 'true',
      RAG_SERVING_GRPC_CA_CERT_PATH: secret.path('ca'),
      RAG_SERVING_GRPC_CLIENT_CERT_PATH: secret.path('cert'),
      RAG_SERVING_GRPC_CLIENT_KEY_PATH: secret.path('key'),
      RAG_SERVING_GRPC_SERVER_NAME_OVERRIDE: 'models.test',
    });
    const infers = async () => (await sidecar.checks()).inference === 'pass';
    await eventually('it infers', infers);
    expect(gateway.open).toEqual(['first.test']);
    secret.swap({ ca: ca.cert, ...ca.issue('second.test') });
    await sidecar.program.line(({ msg }) => msg === 'TLS files were rotated, connections are renewed');
    await eventually('the new certificate is shown', () => gateway.open.join() === 'second.test');
    await eventually('it infers', infers);
  } finally {
    gateway.close();
    secret.remove();
    ca.remove();
  }
});
