/** GPU memory, told by texts in Triton's format that a small server gives out, beside a real engine. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { killAllPrograms } from '../../../scripts/stack/program.ts';
import { GIB, tritonMetrics } from '../../unit/ops/vram/expositions.ts';
import { eventually, startEngine } from '../worker/harness.ts';
import { FakeTriton, type Reply } from './fake-triton.ts';
import { type Sidecar, startSidecar } from './sidecar.ts';

let triton: FakeTriton;
let sidecar: Sidecar;
const used = (gib: number) => ({ body: tritonMetrics({ used: gib * GIB, total: 24 * GIB }) });

beforeEach(async () => {
  triton = await FakeTriton.start();
  triton.metrics = used(10);
  const engine = await startEngine();
  sidecar = await startSidecar({
    RAG_SERVING_TRITON_HTTP_URL: triton.url,
    RAG_SERVING_TRITON_GRPC_URL: engine.target,
    RAG_SERVING_TRITON_METRICS_URL: `${triton.url}/metrics`,
  });
  await sidecar.turns(200);
});
afterEach(async () => {
  await killAllPrograms();
  await triton.stop();
});

describe('/ready turns within two intervals, and back', () => {
  it('when GPU memory is over the limit', async () => {
    expect(await sidecar.checks()).toMatchObject({ vram: 'pass' });
    triton.metrics = used(21);
    await sidecar.turns(503);
    expect(await sidecar.checks()).toEqual({ triton: 'pass', models: 'pass', inference: 'pass', vram: 'fail' });
    expect(await sidecar.reasonOf('vram')).toContain('87.5 %');
    expect((await sidecar.status()).vram).toMatchObject({ state: 'over_utilization', utilization: 0.875 });
    triton.metrics = used(18);
    await sidecar.turns(200);
  });

  it('when the models hold more than the static limit, by their own account', async () => {
    const holds = (gib: number) => ({
      body: JSON.stringify({
        model_stats: [
          {
            name: 'online_embedder_ensemble',
            version: '1',
            memory_usage: [{ type: 'GPU', id: 0, byte_size: gib * GIB }],
          },
        ],
      }),
    });
    triton.statistics = holds(20.5);
    await sidecar.turns(503);
    const { vram, modelServer } = await sidecar.status();
    expect(vram).toMatchObject({ state: 'over_static', staticBytes: 20.5 * GIB, staticSource: 'statistics' });
    expect(modelServer.models[0]?.gpuBytes).toBe(20.5 * GIB);
    triton.statistics = holds(15);
    await sidecar.turns(200);
  });
});

describe('metrics that say nothing (M03)', () => {
  const cases: readonly (readonly [string, Reply, string])[] = [
    ['404', { status: 404 }, 'unreachable'],
    ['no nv_gpu series', { body: tritonMetrics() }, 'no_gpu_metrics'],
    ['silence', 'silence', 'unreachable'],
    ['garbage', { body: '<html>Log in</html>' }, 'unreachable'],
    ['NaN', { body: tritonMetrics({ used: 'NaN', total: 24 * GIB }) }, 'invalid_metrics'],
  ];
  it.each(cases)('%s: known as unknown, still ready', async (_name, reply, state) => {
    triton.metrics = reply;
    await eventually('it is seen', async () => (await sidecar.status()).vram?.state === state);
    const { status, body } = await sidecar.ready();
    expect(status).toBe(200);
    expect(body.checks.find(({ name }) => name === 'vram')).toMatchObject({ state: 'unknown', ok: true });
    expect(body.checks.find(({ name }) => name === 'vram')?.reason).not.toBe('');
  });
});
