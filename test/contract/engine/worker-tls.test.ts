/** The worker's connection to a model server that asks for certificates, while its files are rotated (F05). */
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { InferenceConfig } from '../../../src/config/sections/inference.ts';
import type { Log } from '../../../src/telemetry/log.ts';
import { connectEngine } from '../../../workers/worker/engine-connection.ts';
import { Authority, MountedSecret } from '../../support/certificates.ts';
import { startTlsGateway, type TlsGateway } from '../../support/tls-gateway.ts';
import { embed, type RunningEngine, runEngine } from './engine-fixture.ts';

let engine: RunningEngine;
let ca: Authority;
let gateway: TlsGateway;
beforeAll(async () => {
  engine = await runEngine();
  ca = new Authority();
  const target = `127.0.0.1:${engine.engine.ports.grpcPort}`;
  const pair = ca.issue('models.test');
  gateway = await startTlsGateway({ target, pair, clientAuthority: ca.cert, apiKey: undefined });
});
afterAll(async () => {
  gateway.close();
  await engine.stop();
  ca.remove();
});

it('bad files are told by setting and change nothing; good ones are taken over, and no call fails', async () => {
  const [first, second] = [ca.issue('first.test'), ca.issue('second.test')];
  const secret = new MountedSecret({ ca: ca.cert, ...first });
  const told: string[] = [];
  const note = (message: string, fields?: unknown) => void told.push(`${message} ${JSON.stringify(fields)}`);
  const log: Log = { debug: note, info: note, warn: note, error: note, child: () => log };
  const config: InferenceConfig = {
    endpoints: [`127.0.0.1:${gateway.port}`],
    modelName: 'batch_embedder_ensemble',
    timeoutMs: 30_000,
    tls: {
      caPath: secret.path('ca'),
      certPath: secret.path('cert'),
      keyPath: secret.path('key'),
      serverNameOverride: 'models.test',
    },
    tritonHttpUrl: 'http://127.0.0.1:1',
    tritonGrpcUrl: [],
    tritonMetricsUrl: 'http://127.0.0.1:1',
  };
  const health = { pass: () => {}, fail: () => {} };
  const watching = { health, onBreaker: () => {}, onCallEnd: () => {}, onLeft: () => {} };
  const { client } = await connectEngine(config, watching, log, AbortSignal.timeout(30_000));
  try {
    const ask = () => client.infer(embed(['a']), { timeoutMs: 10_000 });
    await ask();
    secret.swap({ ca: ca.cert, cert: second.cert, key: first.key });
    const noGood = () => told.filter((line) => line.startsWith('TLS files are no good'));
    const asked = async () => {
      await ask();
      return noGood();
    };
    await expect.poll(asked, { timeout: 20_000, interval: 20 }).toHaveLength(1);
    expect(noGood()[0]).toContain('RAG_SERVING_GRPC_CLIENT_KEY_PATH holds the key of another certificate');
    expect(noGood()[0]).toContain(secret.path('key'));
    expect(gateway.open).toEqual(['first.test']);

    secret.swap({ ca: ca.cert, ...second });
    const renewed = async () => {
      await ask();
      return gateway.open.join();
    };
    await expect.poll(renewed, { timeout: 20_000, interval: 20 }).toBe('second.test');
    expect(noGood()).toHaveLength(1);
  } finally {
    client.close();
    secret.remove();
  }
});
