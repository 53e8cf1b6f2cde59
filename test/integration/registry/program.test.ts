/** `rag-serving models` as a person runs it, from dist/, against a real S3 server: the round trip, and kills in its middle. */
import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, expect, it } from 'vitest';
import { committedPath } from '../../../scripts/stack/package-root.ts';
import { killAllPrograms, Program } from '../../../scripts/stack/program.ts';
import { S3Storage } from '../../../src/registry/s3/s3-storage.ts';
import { s3Environment, s3OptionsOf } from '../../support/s3-options.ts';
import { useS3 } from '../../support/stack.ts';

const s3 = useS3();
const root = mkdtempSync(join(tmpdir(), 'rag-models-'));
const engine = randomBytes(90 * 1_024 * 1_024);
const note = {
  tensorrt: '10.3.0',
  cuda: '12.5',
  gpu: { name: 'NVIDIA L4', computeCapability: '8.9' },
  fingerprint: { model: 'minilm', revision: 'abc' },
};
const HERE = ['--gpu', 'L4', '--tensorrt', '10.3.0.26'];

beforeAll(() => {
  mkdirSync(join(root, 'model/1'), { recursive: true });
  writeFileSync(join(root, 'model/1/model.plan'), engine);
  writeFileSync(join(root, 'model/1/model.plan.manifest.json'), JSON.stringify(note));
  writeFileSync(join(root, 'model/golden.json'), '{}');
  writeFileSync(join(root, 'model/run.sh'), '#!/bin/sh\n', { mode: 0o755 });
});
afterEach(killAllPrograms);
afterAll(() => rmSync(root, { recursive: true, force: true }));

type Ran = { readonly code: number; readonly stdout: string; readonly stderr: string };

function models(args: readonly string[], env: Record<string, string> = {}): Promise<Ran> {
  const options = { env: { PATH: process.env.PATH, HOME: root, ...s3Environment(s3()), ...env }, timeout: 60_000 };
  return new Promise((resolve) => {
    execFile(committedPath('dist/workers/main.js'), ['models', ...args], options, (error, stdout, stderr) => {
      resolve({ code: error === null ? 0 : Number(error.code), stdout, stderr });
    });
  });
}

const json = ({ stdout }: Ran) => JSON.parse(stdout);

it('push, list, pull, verify; and each again changes nothing', async () => {
  const pushed = await models(['push', join(root, 'model'), 'embedder:v1', '--tag', 'latest', '--tag', 'l4', '--json']);
  expect(pushed.stderr).toMatch(/^hash: 90\.0 MiB\npush: 90\.0 MiB\n/);
  expect(json(pushed)).toMatchObject({ version: 'v1', files: 4, unchanged: false });
  expect(
    json(await models(['push', join(root, 'model'), 'embedder:v1', '--tag', 'l4', '--json', '--quiet'])),
  ).toMatchObject({
    sentBytes: 0,
    unchanged: true,
  });

  const { sha256 } = json(pushed);
  expect(json(await models(['list', '--json']))).toMatchObject([
    {
      name: 'embedder',
      version: 'v1',
      tags: ['l4', 'latest'],
      sha256,
      engine: { gpu: 'NVIDIA L4', computeCapability: '8.9', tensorrt: '10.3.0', cuda: '12.5' },
      fingerprint: { model: 'minilm', revision: 'abc' },
    },
  ]);
  expect((await models(['list'])).stdout).toMatch(
    /^embedder {2}v1 +l4,latest +90\.0 MiB +engine +NVIDIA L4 +10\.3\.0/m,
  );

  for (const reference of ['embedder', 'embedder:l4', 'embedder:v1', `embedder@sha256:${sha256.slice(0, 12)}`]) {
    const pulled = await models(['pull', reference, join(root, 'out'), ...HERE, '--json', '--quiet']);
    expect(pulled.stderr).toBe('');
    expect(json(pulled)).toMatchObject({ sha256, unchanged: reference !== 'embedder' });
  }
  expect(readFileSync(join(root, 'out/1/model.plan')).equals(engine)).toBe(true);
  expect(readdirSync(root).filter((name) => name.startsWith('.out'))).toEqual([]);
  expect(await models(['verify', join(root, 'out'), '--quiet'])).toMatchObject({ code: 0, stderr: '' });
  expect(await models(['verify', 'embedder', '--remote', '--deep', '--quiet'])).toMatchObject({ code: 0, stderr: '' });

  writeFileSync(join(root, 'out/golden.json'), '[]');
  writeFileSync(join(root, 'out/extra'), '');
  const verified = await models(['verify', join(root, 'out'), '--quiet']);
  expect(verified.code).toBe(1);
  expect(verified.stdout).toMatch(/^changed: golden\.json\nnot of the model: extra\nembedder:v1: 4 files, 1 wrong/);
  expect(json(await models(['pull', 'embedder', join(root, 'out'), ...HERE, '--json', '--quiet'])).unchanged).toBe(
    false,
  );
  expect(readFileSync(join(root, 'out/golden.json'), 'utf8')).toBe('{}');
});

it('an engine for another machine, or an unknown one, is refused; what is there stays', async () => {
  for (const [machine, says] of [
    [['--gpu', 'NVIDIA A10G', '--tensorrt', '10.3.0'], /built for NVIDIA L4, and this machine has NVIDIA A10G/],
    [['--gpu', 'L4', '--tensorrt', '10.4.0'], /needs TensorRT 10\.3\.0, and this machine has 10\.4\.0/],
    [['--gpu', 'L4', '--compute-capability', '8.6', '--tensorrt', '10.3.0'], /needs compute capability 8\.9.* 8\.6/],
    [['--tensorrt', '10.3.0'], /no GPU is found here \(nvidia-smi\); name one with --gpu/],
  ] as const) {
    // No nvidia-smi, whatever this machine has.
    const { code, stderr } = await models(['pull', 'embedder', join(root, 'elsewhere'), ...machine], {
      PATH: `${join(process.execPath, '..')}:/bin`,
    });
    expect(code).toBe(1);
    expect(stderr).toMatch(/MODEL_INCOMPATIBLE/);
    expect(stderr).toMatch(says);
  }
  expect(existsSync(join(root, 'elsewhere'))).toBe(false);
  expect(
    (await models(['pull', 'embedder', join(root, 'brave'), '--gpu', 'A10G', '--allow-mismatch', '--quiet'])).code,
  ).toBe(0);
});

it('a push that is killed leaves nothing to pull, and the next one goes on', async () => {
  const storage = new S3Storage(s3OptionsOf(s3(), { prefix: 'killed/' }));
  const signal = AbortSignal.timeout(60_000);
  const env = s3Environment(s3(), 'killed/');
  const uploads = async () => {
    let count = 0;
    for await (const _ of storage.listUploads('blobs/', signal)) count++;
    return count;
  };
  const program = new Program(['models', 'push', join(root, 'model'), 'killed'], {
    ...env,
    AWS_EC2_METADATA_DISABLED: 'true',
  });
  while ((await uploads()) === 0) await sleep(5);
  await program.kill();
  expect(await uploads()).toBe(1);
  expect((await models(['list'], env)).stdout).toBe('no models\n');
  const pulled = await models(['pull', 'killed', join(root, 'killed'), ...HERE], env);
  expect(pulled).toMatchObject({ code: 1, stdout: '' });
  expect(pulled.stderr).toMatch(/REGISTRY_NOT_FOUND: .*killed is not there \(no model of that name\)/);
  const pushed = await models(['push', join(root, 'model'), 'killed', '--quiet'], env);
  expect(pushed).toMatchObject({ code: 0, stderr: '' });
  expect(await uploads()).toBe(0);
  expect((await models(['verify', 'killed', '--remote', '--deep', '--quiet'], env)).code).toBe(0);
  storage.close();
});

it('a pull that is killed leaves the old version in its place, and the next one goes on; two at once both end well', async () => {
  const folder = join(root, 'served');
  mkdirSync(join(root, 'first'));
  writeFileSync(join(root, 'first/config.pbtxt'), 'first');
  await models(['push', join(root, 'first'), 'served']);
  expect((await models(['pull', 'served', folder])).code).toBe(0);
  await models(['push', join(root, 'model'), 'served']);

  const program = new Program(['models', 'pull', 'served', folder, ...HERE], s3Environment(s3()));
  const blobs = join(root, '.served.rag-pull/blobs');
  const begun = () => existsSync(blobs) && readdirSync(blobs).some((name) => name.endsWith('.ranges'));
  while (!begun()) await sleep(2);
  await program.kill();
  expect(readFileSync(join(folder, 'config.pbtxt'), 'utf8')).toBe('first');
  expect((await models(['verify', folder, '--quiet'])).code).toBe(0);

  const both = await Promise.all([1, 2].map(() => models(['pull', 'served', folder, ...HERE, '--json', '--quiet'])));
  expect(both.map(({ code, stderr }) => [code, stderr])).toEqual([
    [0, ''],
    [0, ''],
  ]);
  expect(both.map((ran) => json(ran).unchanged).sort()).toEqual([false, true]);
  expect(readFileSync(join(folder, '1/model.plan')).equals(engine)).toBe(true);
  expect(readdirSync(root).filter((name) => name.startsWith('.served'))).toEqual([]);
});

it('a signal ends a push with exit code 3 and no stack', async () => {
  const program = new Program(
    ['models', 'push', join(root, 'model'), 'stopped', '--again'],
    s3Environment(s3(), 'stopped/'),
  );
  while (!program.output.includes('push: ')) await sleep(5);
  expect(await program.stop('SIGINT')).toEqual({ code: 3, signal: null });
  expect(program.output).toMatch(/interrupted: what has travelled is kept; run it again to go on\n$/);
});

it('gc removes what a cut-off push left, and nothing else', async () => {
  const env = s3Environment(s3(), 'gc/');
  const storage = new S3Storage(s3OptionsOf(s3(), { prefix: 'gc/' }));
  await models(['push', join(root, 'first'), 'kept'], env);
  const orphan = `blobs/sha256/${'a'.repeat(64)}`;
  await storage.writeSmall(orphan, Buffer.from('x'), 'always', AbortSignal.timeout(10_000));
  expect((await models(['gc', '--delete'], env)).stdout).toMatch(/^removed 0 blobs/);
  await sleep(1_100); // S3 tells times in whole seconds
  expect((await models(['gc', '--grace', '0m'], env)).stdout).toMatch(
    /would remove 1 blobs \(1 B\).*1 versions stay; --delete/,
  );
  expect((await models(['gc', '--grace', '0m', '--delete'], env)).stdout).toMatch(
    /^blobs\/sha256\/a{64} 1 B\nremoved 1 blobs/,
  );
  expect(await storage.stat(orphan, AbortSignal.timeout(10_000))).toBeUndefined();
  expect(await storage.stat('gc.json', AbortSignal.timeout(10_000))).toBeUndefined();
  expect((await models(['verify', 'kept', '--remote', '--deep', '--quiet'], env)).code).toBe(0);
  storage.close();
});
