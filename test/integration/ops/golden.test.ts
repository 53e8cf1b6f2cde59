/** The sidecar beside a real Triton whose model must pass its golden check before it is ready, and after each load. */
import { cp } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, describe, expect, it } from 'vitest';
import { killAllPrograms, Program } from '../../../scripts/stack/program.ts';
import { useTriton } from '../../support/stack.ts';
import { take, useFolder } from '../models/model-commands.ts';
import { eventually } from '../worker/harness.ts';
import { beside, INTERVAL_MS, type Sidecar, startSidecar } from './sidecar.ts';

/** Vectors of a hash; a text that holds `nan-row` is NaN in one of them, and like any other in the other. */
const [GOOD, BAD] = ['rejecting', 'nan_rows'];
const triton = useTriton({ models: [GOOD, BAD] });
const folder = useFolder();
afterEach(killAllPrograms);

const golden = () => take(folder(), { plain: 'a text', marked: 'a nan-row' }, { url: triton().grpcUrl, model: GOOD });

async function start(model: string): Promise<Sidecar> {
  const settings = { RAG_SERVING_MODEL_NAME: model, RAG_SERVING_GOLDEN_FILE: await golden() };
  return startSidecar({ ...beside(triton()), ...settings });
}

async function control(model: string, action: 'load' | 'unload'): Promise<void> {
  const response = await fetch(`${triton().httpUrl}/v2/repository/models/${model}/${action}`, { method: 'POST' });
  expect(response.status, await response.text()).toBe(200);
}

const checksMade = ({ program }: Sidecar) => program.lines.filter(({ msg }) => msg === 'golden check');

describe('RAG_SERVING_GOLDEN_FILE', () => {
  it('a model that differs never makes it ready, though it infers; the reason names the row and no text', async () => {
    const sidecar = await start(BAD);
    await eventually('it was checked', () => checksMade(sidecar).length > 0);
    await eventually('all else is well', async () => (await sidecar.checks()).inference === 'pass');
    const { status } = await sidecar.ready();
    expect(status).toBe(503);
    expect(await sidecar.checks()).toMatchObject({ inference: 'pass', golden: 'fail' });
    expect(await sidecar.reasonOf('golden')).toMatch(/^row 1 \(marked\) .*not finite/);
    expect(sidecar.program.output).not.toContain('nan-row');
    expect(await (await sidecar.get('/metrics')).text()).toMatch(
      /check_state\{[^}]*check="golden",state="fail"[^}]*\} 1/,
    );
  });

  it('a model that passes makes it ready; one that is loaded anew must pass again, and is out when it has changed', async () => {
    const sidecar = await start(GOOD);
    await eventually('it is ready', async () => (await sidecar.ready()).status === 200);
    expect(checksMade(sidecar)).toMatchObject([{ outcome: 'equal' }]);

    await control(GOOD, 'unload');
    await sidecar.turns(503);
    await control(GOOD, 'load');
    await eventually('it is ready again', async () => (await sidecar.ready()).status === 200);
    expect(checksMade(sidecar)).toMatchObject([{ outcome: 'equal' }, { outcome: 'equal' }]);

    // In place, without a moment in which it does not answer: only the counts tell, those of a look after the check.
    await sleep(2 * INTERVAL_MS);
    const repository = triton().modelRepository;
    await cp(join(repository, BAD, '1', 'model.py'), join(repository, GOOD, '1', 'model.py'));
    await control(GOOD, 'load');
    await eventually('it is out', async () => (await sidecar.ready()).status === 503);
    await eventually('it was checked', () => checksMade(sidecar).length === 3);
    expect(await sidecar.checks()).toMatchObject({ inference: 'pass', golden: 'fail' });
  });

  it('a file that is none ends it with exit code 2', async () => {
    const file = join(triton().modelRepository, GOOD, 'config.pbtxt');
    const program = new Program(['ops'], { ...beside(triton()), RAG_SERVING_GOLDEN_FILE: file });
    expect(await program.exited).toEqual({ code: 2, signal: null });
    expect(program.output).toContain('config.pbtxt is no golden file: it is no JSON');
  });
});
