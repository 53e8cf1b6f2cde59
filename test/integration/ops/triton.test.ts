/** The sidecar beside a real Triton: what it says when the server, a model, or only a model's process is gone. */
import { afterEach, describe, expect, it } from 'vitest';
import { killAllPrograms } from '../../../scripts/stack/program.ts';
import { startTriton } from '../../../scripts/stack/triton.ts';
import { useTriton } from '../../support/stack.ts';
import { eventually } from '../worker/harness.ts';
import { beside, type Sidecar, startSidecar } from './sidecar.ts';

/** Its vectors are a hash, and a text that holds `crash-stub` ends its process. */
const MODEL = 'rejecting';
const triton = useTriton({ models: [MODEL, 'stalling_reranker'] });

afterEach(killAllPrograms);

async function start(): Promise<Sidecar> {
  const sidecar = await startSidecar({ ...beside(triton()), RAG_SERVING_READY_MODELS: `${MODEL}, stalling_reranker` });
  await sidecar.turns(200);
  return sidecar;
}

async function control(model: string, action: 'load' | 'unload'): Promise<void> {
  const response = await fetch(`${triton().httpUrl}/v2/repository/models/${model}/${action}`, { method: 'POST' });
  expect(response.status, await response.text()).toBe(200);
}

async function crashStub(): Promise<void> {
  const inputs = [{ name: 'TEXT', datatype: 'BYTES', shape: [1, 1], data: ['crash-stub'] }];
  await fetch(`${triton().httpUrl}/v2/models/${MODEL}/infer`, {
    method: 'POST',
    body: JSON.stringify({ inputs }),
    signal: AbortSignal.timeout(20_000),
  });
}

describe('beside a Triton that is well', () => {
  it('is ready, infers with an embedder and a reranker, and says that there is no GPU (M03)', async () => {
    const sidecar = await start();
    expect(await sidecar.checks()).toEqual({ triton: 'pass', models: 'pass', inference: 'pass', vram: 'unknown' });
    expect(await sidecar.reasonOf('vram')).toContain('no GPU');
    const { vram, modelServer, ingest, program } = await sidecar.status();
    expect({ program, ingest, vram: vram?.state }).toEqual({ program: 'ops', ingest: null, vram: 'no_gpu_metrics' });
    expect(modelServer.models).toMatchObject([
      {
        name: MODEL,
        state: 'ready',
        dims: 384,
        maxBatch: 256,
        fingerprint: 'sha256-tiled/l2/FP16/384',
        gpuBytes: null,
      },
      { name: 'stalling_reranker', state: 'ready', dims: null },
    ]);
  });
});

describe('/ready turns within two intervals, and back', () => {
  it('when a model is unloaded', async () => {
    const sidecar = await start();
    await control(MODEL, 'unload');
    await sidecar.turns(503);
    expect(await sidecar.checks()).toMatchObject({ models: 'fail', inference: 'fail' });
    expect(await sidecar.reasonOf('models')).toMatch(new RegExp(`^${MODEL}: HTTP `));
    await control(MODEL, 'load');
    await sidecar.turns(200);
  });

  it('when the process of a python model is killed, though Triton says over HTTP that all is ready (M05)', async () => {
    const sidecar = await start();
    await crashStub();
    await sidecar.turns(503);
    expect(await sidecar.checks()).toMatchObject({ triton: 'pass', models: 'pass', inference: 'fail' });
    expect(await sidecar.reasonOf('inference')).toContain(MODEL);
    expect((await sidecar.get('/healthz')).status).toBe(200);
    await control(MODEL, 'unload');
    await eventually('the model is gone', async () => (await sidecar.checks()).models === 'fail');
    await control(MODEL, 'load');
    await sidecar.turns(200);
  });

  it('when Triton is killed and started again', async () => {
    const own = await startTriton({ models: [MODEL] });
    try {
      const sidecar = await startSidecar({ ...beside(own), RAG_SERVING_READY_MODELS: MODEL });
      await sidecar.turns(200);
      await own.kill();
      await sidecar.turns(503);
      expect(await sidecar.checks()).toEqual({ triton: 'fail', models: 'fail', inference: 'fail', vram: 'unknown' });
      expect((await sidecar.get('/healthz')).status).toBe(200);
      await own.restart();
      await sidecar.turns(200);
    } finally {
      await own.stop();
    }
  });
});

describe('after SIGTERM', () => {
  it('is not ready and answers all else while Triton lives, and ends with it (L08)', async () => {
    const own = await startTriton({ models: [MODEL] });
    try {
      const sidecar = await startSidecar({
        ...beside(own),
        RAG_SERVING_READY_MODELS: MODEL,
        RAG_SERVING_OPS_LINGER_MS: '60000',
      });
      await sidecar.turns(200);
      sidecar.program.signal('SIGTERM');
      await eventually('it drains', async () => (await sidecar.ready()).body.phase === 'draining');
      expect((await sidecar.ready()).status).toBe(503);
      for (const path of ['/healthz', '/metrics', '/status', '/openapi.json', '/docs/']) {
        expect({ path, status: (await sidecar.get(path)).status }).toEqual({ path, status: 200 });
      }
      expect(await sidecar.checks()).toMatchObject({ triton: 'pass', inference: 'pass' });
      await own.kill();
      expect(await sidecar.program.exited).toEqual({ code: 0, signal: null });
    } finally {
      await own.stop();
    }
  });

  it('ends at once after a second signal', async () => {
    const sidecar = await startSidecar({
      ...beside(triton()),
      RAG_SERVING_READY_MODELS: MODEL,
      RAG_SERVING_OPS_LINGER_MS: '600000',
    });
    await sidecar.turns(200);
    sidecar.program.signal('SIGTERM');
    await eventually('it drains', async () => (await sidecar.ready()).body.phase === 'draining');
    expect(await sidecar.stop('SIGTERM')).toEqual({ code: 0, signal: null });
  });
});
