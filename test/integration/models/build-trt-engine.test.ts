/**
 * Both forms as programs, from their command lines to the files, with a stand-in for trtexec (test/support/fake-trtexec.mjs): what
 * is left when a build works, fails, is killed or is interrupted.
 */
import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { engineManifestSchema, planManifestSchema } from '../../../scripts/build-trt-engine/manifest.ts';
import {
  cleanEnv,
  FAKE_TRTEXEC,
  openWorkshop,
  SHELL_FORM,
  start,
  type Workshop,
} from '../../unit/scripts/build-trt-engine/workshop.ts';

const COMPILED = [process.execPath, join(import.meta.dirname, '../../../dist/scripts/build-trt-engine/main.js')];

let workshop: Workshop;
let embedder: string;
let models: string;
beforeAll(async () => {
  workshop = await openWorkshop();
  embedder = await workshop.model('embedder', { tokenTypes: true, positions: 512 });
  models = join(workshop.folder, 'models');
});
beforeEach(() => rm(models, { recursive: true, force: true }));
afterAll(() => workshop.close());

const bare = () => [
  ...['--profile', 'online_embed', '--onnx-path', embedder, '--output-engine-path', join(models, 'model.plan')],
];
const args = () => [...bare(), '--trtexec', FAKE_TRTEXEC];
const left = async () => (await readdir(models).catch(() => [])).sort();
const readJson = async (name: string) => JSON.parse(await readFile(join(models, name), 'utf8'));
const read = async () => engineManifestSchema.parse(await readJson('model.plan.manifest.json'));
const BUILT = ['model.plan', 'model.plan.manifest.json', 'trt-timing.cache'];

for (const [form, program] of Object.entries({ 'build-trt-engine': COMPILED, 'build-trt-engine.sh': SHELL_FORM })) {
  const build = (env: Readonly<Record<string, string>>) => start(program, args(), cleanEnv(env)).ended;

  describe(form, () => {
    it('writes the engine, its manifest and the timings, and nothing else', async () => {
      const record = join(workshop.folder, 'record.json');
      const { code, stderr } = await build({ FAKE_TRTEXEC_RECORD: record });
      expect({ code, stderr: code === 0 ? '' : stderr }).toEqual({ code: 0, stderr: '' });
      expect(await left()).toEqual(BUILT);
      const manifest = await read();
      expect(manifest).toMatchObject({ tensorrt: '10.16.0', gpu: { name: 'NVIDIA L4', computeCapability: '8.9' } });
      expect(await readFile(join(models, 'model.plan'), 'utf8')).toContain('no engine:');
      expect(JSON.parse(await readFile(record, 'utf8'))).toEqual(manifest.command.slice(1));
      // trtexec would take 1x1 for an input without a shape, and only warn.
      expect(stderr).not.toContain('Dynamic dimensions required');
    });

    it('TensorRT 11, which has no weakly typed networks, takes the command too', async () => {
      expect(await build({ FAKE_TRTEXEC_VERSION: '110100' })).toMatchObject({ code: 0 });
      expect(await read()).toMatchObject({ tensorrt: '11.1.0' });
    });

    it('TensorRT 8 is refused before anything is built', async () => {
      const { code, stderr } = await build({ FAKE_TRTEXEC_VERSION: '8601' });
      expect(code).toBe(1);
      expect(stderr).toContain('is of TensorRT 8.6.1; 10 is the oldest');
      expect(await left()).toEqual([]);
    });

    const failures: readonly (readonly [mode: string, says: RegExp])[] = [
      ['out-of-memory', /Cuda Runtime \(out of memory\)[\s\S]*→ the GPU memory does not do/],
      ['unsupported', /operator: Gelu[\s\S]*→ this TensorRT does not know an operator/],
      ['disk-full', /Saving engine to file failed[\s\S]*→ the engine could not be written/],
      ['killed', /→ it was killed: most likely the memory/],
      ['no-engine', /ended with 0 and left no engine/],
      ['unheard-of', /ended with 1; the last it printed:[\s\S]*nobody has seen this before/],
    ];
    for (const [mode, says] of failures) {
      it(`${mode}: says what to do, and leaves the engine of before as it was`, async () => {
        await mkdir(models, { recursive: true });
        for (const name of BUILT) await writeFile(join(models, name), `${name} of before`);
        const { code, stderr } = await build({ FAKE_TRTEXEC_MODE: mode });
        expect(code).toBe(1);
        expect(stderr).toMatch(says);
        expect(await left()).toEqual(BUILT);
        for (const name of BUILT) expect(await readFile(join(models, name), 'utf8')).toBe(`${name} of before`);
      });
    }

    it('a second build takes the place of the first', async () => {
      expect(await build({})).toMatchObject({ code: 0 });
      const { command } = await read();
      expect(await start(program, [...args(), '--max-batch', '4'], cleanEnv()).ended).toMatchObject({ code: 0 });
      expect(await left()).toEqual(BUILT);
      const { engine, shapes } = await read();
      expect(shapes.max).toEqual({ batch: 4, tokens: 512 });
      const written = await readFile(join(models, 'model.plan'));
      expect(engine.sha256).toBe(createHash('sha256').update(written).digest('hex'));
      expect(written.toString()).not.toContain(command.find((word) => word.startsWith('--maxShapes'))!);
    });

    it('a build of the same engine that still runs, or may run on another machine, is not disturbed', async () => {
      for (const owner of [`${process.pid} ${hostname()}`, '1 elsewhere', '']) {
        await claimedBy(owner);
        const { code, stderr } = await build({});
        expect({ owner, code }).toEqual({ owner, code: 2 });
        expect(stderr).toContain(`belongs to another build (${owner || 'it does not say which'})`);
        expect(await left()).toEqual(['.model.plan.building']);
      }
    });

    it('what a killed build left is thrown away by the next', async () => {
      await claimedBy(`${await pidOfDead()} ${hostname()}`);
      await writeFile(join(models, '.model.plan.building/model.plan'), 'half');
      expect(await build({})).toMatchObject({ code: 0 });
      expect(await left()).toEqual(BUILT);
    });

    for (const [mode, signal] of [
      ['hang', 'SIGINT'],
      ['deaf', 'SIGTERM'],
    ] as const) {
      it(`${signal} while trtexec is ${mode}: exit code 130, nothing is left, trtexec has ended`, async () => {
        const run = start(program, args(), cleanEnv({ FAKE_TRTEXEC_MODE: mode }));
        await run.saw('] building');
        run.kill(signal);
        expect(await run.ended).toMatchObject({ code: 130 });
        expect(await left()).toEqual([]);
        expect(await commandsNamed(models)).toEqual([]);
      });
    }

    it('without trtexec a build says where to get it, and a dry run writes a plan that is no manifest', async () => {
      const env = cleanEnv({ PATH: `${join(process.execPath, '..')}:/usr/bin:/bin` });
      const { code, stderr } = await start(program, bare(), env).ended;
      expect({ code, stderr }).toEqual({ code: 1, stderr: expect.stringMatching(/no trtexec here: .*tritonserver/) });
      const dry = await start(program, [...bare(), '--dry-run'], env).ended;
      expect(dry).toMatchObject({ code: 0, stdout: expect.stringMatching(/^trtexec --onnx=.*--skipInference\n$/) });
      expect(await left()).toEqual(['model.plan.plan.json']);
      const plan = await readJson('model.plan.plan.json');
      expect(planManifestSchema.safeParse(plan).success).toBe(true);
      expect(engineManifestSchema.safeParse(plan).success).toBe(false);

      expect(await build({})).toMatchObject({ code: 0 });
      expect(await left()).toEqual(BUILT);
    });

    it('a refused model is exit code 3, and a plan of before is gone', async () => {
      expect(await start(program, [...bare(), '--dry-run'], cleanEnv()).ended).toMatchObject({ code: 0 });
      const asReranker = bare().map((arg) => (arg === 'online_embed' ? 'online_rerank' : arg));
      const { code, stderr } = await start(program, [...asReranker, '--dry-run'], cleanEnv()).ended;
      expect({ code, stderr }).toEqual({
        code: 3,
        stderr: expect.stringContaining('profile online_rerank serves the one output SCORE'),
      });
      expect(await left()).toEqual([]);
    });

    const wrong: readonly Wrong[] = [
      { says: 'online_embed', with: () => ['--profile', 'online'] },
      { says: '--max-tokens', with: () => [...bare(), '--max-tokens', '0'] },
      { says: '--optimization-level', with: () => [...bare(), '--optimization-level=6'] },
      { says: 'fp16', with: () => [...bare(), '--precision', 'int8'] },
      { says: '--fast', with: () => [...bare(), '--fast'] },
      { says: 'is the model itself', with: () => [...bare(), '--output-engine-path', embedder] },
      { says: 'is a folder', with: () => [...bare(), '--output-engine-path', workshop.folder] },
      { says: 'is no program', with: () => [...bare(), '--trtexec', embedder] },
      { says: 'MAX_STATIC_VRAM_BYTES', with: bare, env: { RAG_SERVING_MAX_STATIC_VRAM_BYTES: '20G' } },
      { says: 'less than 256 MiB', with: bare, env: { RAG_SERVING_MAX_STATIC_VRAM_BYTES: '300000000' } },
      { says: 'VRAM_CAPACITY_BYTES', with: bare, env: { RAG_SERVING_VRAM_CAPACITY_BYTES: '1073741824' } },
    ];
    for (const { says, with: given, env } of wrong) {
      it(`wrong usage is exit code 2: ${says}`, async () => {
        const { code, stderr } = await start(program, [...given(), '--dry-run'], cleanEnv(env)).ended;
        expect({ code, stderr }).toEqual({ code: 2, stderr: expect.stringContaining(says) });
        expect(await left()).toEqual([]);
      });
    }

    it('--help tells the options', async () => {
      const { code, stdout } = await start(program, ['--help'], cleanEnv()).ended;
      expect(code).toBe(0);
      for (const option of ['--profile', '--max-tokens', '--workspace', '--timing-cache', '--dry-run', 'Exit codes']) {
        expect(stdout).toContain(option);
      }
    });
  });
}

type Wrong = {
  readonly says: string;
  readonly with: () => readonly string[];
  readonly env?: Readonly<Record<string, string>>;
};

async function claimedBy(owner: string): Promise<void> {
  await mkdir(join(models, '.model.plan.building'), { recursive: true });
  await writeFile(join(models, '.model.plan.building/owner'), `${owner}\n`);
}

async function pidOfDead(): Promise<number> {
  const child = spawn('true');
  await new Promise((resolve) => child.once('close', resolve));
  return child.pid!;
}

/** Processes with this in their command line. */
async function commandsNamed(text: string): Promise<string[]> {
  const pids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name));
  const lines = await Promise.all(pids.map((pid) => readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '')));
  return lines.filter((line) => line.includes(text));
}
