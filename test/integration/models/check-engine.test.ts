/** `rag-serving models` beside the embedded engine: the command line, and servers that go silent or die under the check. */
import { readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import type { Program } from '../../../scripts/stack/program.ts';
import { formatGolden, parseGolden } from '../../../src/golden/golden-file.ts';
import { defaultTexts } from '../../../src/golden/texts.ts';
import { type EngineProcess, endPrograms, eventually, startEngine } from '../worker/harness.ts';
import { ended, models, referenceOfMiniLm, startModels, useFolder } from './model-commands.ts';

const MODEL = 'online_embedder_ensemble';
const folder = useFolder();
afterEach(endPrograms);

async function takeDefault(url: string): Promise<string> {
  const golden = join(folder(), 'golden.json');
  const taken = await models(['golden', '--url', url, '--model', MODEL, '--output', golden]);
  expect(taken.code, taken.output).toBe(0);
  return golden;
}

const journal = () => join(folder(), 'journal');
const embedded = async () => (await readFile(journal(), 'utf8')).split('\n').length;

/** Slow enough that a check of many repeats is still under way when it is to be disturbed. */
async function startSlowEngine(): Promise<{ engine: EngineProcess; golden: string }> {
  await rm(journal(), { force: true });
  const engine = await startEngine(['--synthetic', '--batch-ms', '100', '--journal', journal()]);
  return { engine, golden: await takeDefault(engine.target) };
}

/** Resolves when the check has asked for some rows. */
async function startedCheck({ target }: EngineProcess, golden: string, ...more: readonly string[]): Promise<Program> {
  const before = await embedded();
  const check = startModels(checkArgs(target, golden, '--repeat', '1000', ...more));
  await eventually('the check is under way', async () => (await embedded()) > before + defaultTexts.length);
  return check;
}

const checkArgs = (url: string, golden: string, ...more: readonly string[]) => [
  'check',
  '--url',
  url,
  '--model',
  MODEL,
  '--golden',
  golden,
  '--json',
  ...more,
];

describe('beside the embedded engine', () => {
  it('a golden file says that it comes from a live model; the engine is equal to itself, also through the settings', async () => {
    const { target } = await startEngine();
    const golden = parseGolden(await readFile(await takeDefault(target), 'utf8'), 'x');
    expect(golden).toMatchObject({
      ...{ kind: 'embedder', dims: 384, dtype: 'FP16', fingerprint: 'synthetic-sha256/none/l2/FP16/384' },
      producer: {
        kind: 'endpoint',
        model: MODEL,
        at: expect.stringMatching(/^20\d\d-.*Z$/),
        properties: { versions: '1' },
      },
    });
    expect(golden.rows.map(({ label }) => label)).toEqual(defaultTexts.map(({ label }) => label));
    // A folder, and the address from the environment.
    const { code, report } = await models(['check', '--model', MODEL, '--golden', folder(), '--json'], {
      RAG_SERVING_TRITON_GRPC_URL: target,
    });
    expect({ code, reasons: report?.reasons }).toEqual({ code: 0, reasons: [] });
  });

  it('with a real model says what the unmodified model says', async () => {
    const { target } = await startEngine(['--threads', '2']);
    const golden = join(folder(), 'minilm.json');
    await writeFile(golden, formatGolden(await referenceOfMiniLm()));
    const { code, report } = await models(checkArgs(target, golden));
    expect({ code, reasons: report?.reasons }).toEqual({ code: 0, reasons: [] });
  });
});

describe('a server that goes away under the check', () => {
  it('killed in the middle: exit code 1, and given up after a few calls', async () => {
    const { engine, golden } = await startSlowEngine();
    const check = await startedCheck(engine, golden, '--call-timeout', '5s');
    await engine.program.kill();
    const { code, report } = await ended(check);
    expect(code).toBe(1);
    expect(report?.reasons[0]).toMatch(/^given up: INFERENCE_(UNAVAILABLE|DEADLINE)/);
    expect(report?.calls.failed).toBe(3);
  });

  it('silent in the middle: three calls run into their limit, then exit code 1', async () => {
    const { engine, golden } = await startSlowEngine();
    const check = await startedCheck(engine, golden, '--call-timeout', '500ms');
    engine.program.signal('SIGSTOP');
    const { code, report } = await ended(check);
    expect(code).toBe(1);
    expect(report?.calls).toMatchObject({ failed: 3, byCode: { INFERENCE_DEADLINE: 3 } });
  });

  it('silent from the start, or not there: exit code 1 after the wait', async () => {
    const engine = await startEngine();
    const golden = await takeDefault(engine.target);
    engine.program.signal('SIGSTOP');
    const silent = await models(checkArgs(engine.target, golden, '--wait', '1s', '--timeout', '3s'));
    expect(silent.code).toBe(1);
    await engine.program.kill();
    const gone = await models(checkArgs(engine.target, golden, '--wait', '0s'));
    expect(gone.code).toBe(1);
    expect(gone.report?.reasons.join()).toContain('MODEL_NOT_READY');
  });

  it('Ctrl-C ends it with what was found out; so does --timeout', async () => {
    const { engine, golden } = await startSlowEngine();
    const check = await startedCheck(engine, golden);
    check.signal('SIGINT');
    const interrupted = await ended(check);
    expect(interrupted.code).toBe(1);
    expect(interrupted.report?.reasons.join()).toContain('received SIGINT');
    const late = await models(checkArgs(engine.target, golden, '--repeat', '1000', '--timeout', '2s'));
    expect(late.code).toBe(1);
    expect(late.report?.reasons.join()).toContain('not done within 2 s');
  });
});

describe('the command line', () => {
  const wrong: { name: string; args: readonly string[]; says: string }[] = [
    { name: 'no golden file', args: ['check', '--model', MODEL], says: '--golden' },
    { name: 'no model', args: ['check', '--golden', 'x'], says: '--model' },
    {
      name: 'a golden file that is not there',
      args: ['check', '--model', MODEL, '--golden', '/no/such'],
      says: 'cannot read',
    },
    { name: 'a time without a unit', args: ['check', '--model', MODEL, '--golden', 'x', '--wait', '60'], says: '60s' },
    {
      name: 'a cosine above 1',
      args: ['check', '--model', MODEL, '--golden', 'x', '--min-cosine', '2'],
      says: '0 to 1',
    },
    {
      name: 'texts that are not there',
      args: ['golden', '--model', MODEL, '--output', 'x', '--texts', '/no'],
      says: 'cannot read',
    },
  ];
  for (const { name, args, says } of wrong) {
    it(`${name} is exit code 2`, async () => {
      const { code, output } = await models(args);
      expect({ code, says: output.includes(says) }, output).toEqual({ code: 2, says: true });
    });
  }

  it('a folder without a golden file, a URL as address, and TLS without its files are exit code 2', async () => {
    const golden = join(folder(), 'for-usage.json');
    await writeFile(golden, formatGolden(await tinyGolden()));
    expect((await models(['check', '--model', MODEL, '--golden', '/'])).code).toBe(2);
    const url = await models(checkArgs('http://127.0.0.1:1', golden));
    expect({ code: url.code, named: url.output.includes('TRITON_GRPC_URL') }, url.output).toEqual({
      code: 2,
      named: true,
    });
    const env = { RAG_SERVING_GRPC_TLS_ENABLED: 'true', RAG_SERVING_GRPC_CA_CERT_PATH: '/no/such/ca.pem' };
    expect((await models(checkArgs('127.0.0.1:1', golden), env)).code).toBe(2);
  });

  it('help tells the exit codes', async () => {
    const { code, output } = await models(['check', '--help']);
    expect(code).toBe(0);
    expect(output).toMatch(/0 {2}equal[\s\S]*1 {2}could not be checked[\s\S]*2 {2}wrong usage[\s\S]*3 {2}differs/);
  });
});

async function tinyGolden() {
  const producer = { kind: 'endpoint', program: 'test', version: '1', model: MODEL, properties: {} } as const;
  const rows = [{ label: 'one', text: 'one', vector: Float32Array.of(1) }];
  const about = { fingerprint: null, producer, maxTokens: null, precision: 'FP32', dtype: 'FP32' } as const;
  return { ...about, kind: 'embedder', dims: 1, rows } as const;
}
