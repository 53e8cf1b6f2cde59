/**
 * The package as a search service gets it: packed, installed in an empty project, imported and required there, its types
 * checked. Needs `npm run build`. Install scripts and optional packages are left out, for the online module needs none.
 */
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { projectRoot } from '../../support/source-files.ts';
import { type RunningEngine, runEngine } from '../engine/engine-fixture.ts';

const run = promisify(execFile);
const bin = (name: string) => join(projectRoot, 'node_modules', '.bin', name);

let folder: string;
let tarball: string;
let packed: string[];
let engine: RunningEngine;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'rag-package-'));
  engine = await runEngine();
  const args = ['pack', '--json', '--ignore-scripts', '--pack-destination', folder];
  const { stdout } = await run('npm', args, { cwd: projectRoot });
  const [{ filename, files }] = JSON.parse(stdout) as [{ filename: string; files: { path: string }[] }];
  tarball = join(folder, filename);
  packed = files.map(({ path }) => path);
  write('package.json', '{ "name": "empty", "private": true }');
  const quiet = ['--no-audit', '--no-fund', '--prefer-offline', '--loglevel=error'];
  await run('npm', ['install', '--ignore-scripts', '--omit=optional', ...quiet, tarball], { cwd: folder });
}, 240_000);
afterAll(async () => {
  await engine?.stop();
  rmSync(folder, { recursive: true, force: true });
});

function write(name: string, text: string): void {
  writeFileSync(join(folder, name), text);
}

const use = `
  const online = await createOnline({ embed: { endpoints: process.argv[2] }, rerank: { endpoints: process.argv[2] } });
  const { vector } = await online.embed('q', { timeoutMs: 10_000 });
  const { source } = await online.rerank('q', [{ id: 'a', text: 'x' }], { timeoutMs: 10_000 });
  await online.close();
  console.log(JSON.stringify({ dims: vector.length, source, fused: fuse([['a']])[0].id }));`;

async function answersOf(script: string) {
  const { stdout, stderr } = await run(process.execPath, [script, `127.0.0.1:${engine.engine.ports.grpcPort}`], {
    cwd: folder,
  });
  return { said: JSON.parse(stdout), stderr };
}

const right = { said: { dims: 384, source: 'cross-encoder', fused: 'a' }, stderr: '' };

it('holds what it needs and nothing of the workshop', () => {
  for (const path of ['dist/online/index.js', 'dist/online/index.d.ts', 'online/README.md', 'LICENSE', 'README.md']) {
    expect(packed).toContain(path);
  }
  expect(packed.filter((path) => /^(test|scripts|\.)|\.env|(?<!\.d)\.ts$/.test(path))).toEqual([]);
});

it('works from an ES module', async () => {
  write('use.mjs', `import { createOnline, fuse } from 'rag-inference-serving/online';${use}`);
  expect(await answersOf('use.mjs')).toEqual(right);
});

it('works from CommonJS, by require', async () => {
  write(
    'use.cjs',
    `const { createOnline, fuse } = require('rag-inference-serving/online'); (async () => {${use}\n})();`,
  );
  expect(await answersOf('use.cjs')).toEqual(right);
});

it('loads no package of others until a client is made', async () => {
  write(
    'loaded.cjs',
    `require('rag-inference-serving/online');
    console.log(JSON.stringify(Object.keys(require.cache).filter((path) => path.includes('node_modules'))));`,
  );
  const { said } = await answersOf('loaded.cjs');
  expect((said as string[]).filter((path) => !path.includes('/rag-inference-serving/'))).toEqual([]);
});

it('its types check where they are used, also in CommonJS', async () => {
  const typed = `
    const host: OnlineHost = {};
    export async function find(store: { near(vector: Float32Array): Promise<Candidate[]> }): Promise<string | undefined> {
      const online = await createOnline({ embed: { endpoints: ['a:1'] }, rerank: false }, host);
      const { results, degraded } = await online.search('q', (vector) => store.near(vector), { topK: 1 });
      // @ts-expect-error: the list of reasons is closed
      if (degraded === 'bored') return;
      return results[0]?.id;
    }`;
  const names = '{ createOnline, type Candidate, type OnlineHost }';
  write('esm.mts', `import ${names} from 'rag-inference-serving/online';${typed}`);
  write('common.cts', `import ${names} from 'rag-inference-serving/online';${typed}`);
  const options = { module: 'nodenext', strict: true, noEmit: true, exactOptionalPropertyTypes: true, types: ['node'] };
  const typeRoots = [join(projectRoot, 'node_modules', '@types')];
  write(
    'tsconfig.json',
    JSON.stringify({ compilerOptions: { ...options, typeRoots }, files: ['esm.mts', 'common.cts'] }),
  );
  const { stdout } = await run(bin('tsc'), ['-p', '.'], { cwd: folder }).catch(
    (failure: { stdout: string }) => failure,
  );
  // The types of Node have faults of their own.
  expect(stdout.split('\n').filter((line) => /rag-inference-serving|\.[cm]ts\(/.test(line))).toEqual([]);
});

it('works, and its types check, where nobody has OpenTelemetry', async () => {
  const api = join(folder, 'node_modules', '@opentelemetry');
  renameSync(api, `${api}-away`);
  try {
    expect(await answersOf('use.mjs')).toEqual(right);
    const { stdout } = await run(bin('tsc'), ['-p', '.'], { cwd: folder }).catch(
      (failure: { stdout: string }) => failure,
    );
    expect(stdout.split('\n').filter((line) => /opentelemetry|rag-inference-serving\/dist\/online/.test(line))).toEqual(
      [],
    );
  } finally {
    renameSync(`${api}-away`, api);
  }
});

it('publint and attw find nothing', async () => {
  await run(bin('publint'), ['run', tarball, '--strict'], { cwd: folder }).catch(({ stdout }) =>
    expect(stdout).toBe(''),
  );
  // CommonJS requires the ES modules themselves, which every Node that the package supports can.
  const args = [tarball, '--profile', 'node16', '--ignore-rules', 'cjs-resolves-to-esm'];
  await run(bin('attw'), args, { cwd: folder }).catch(({ stdout }) => expect(stdout).toBe(''));
});

it('the example answers searches, and stops in order', async () => {
  write('search.mjs', readFileSync(join(projectRoot, 'examples', 'search.mjs'), 'utf8'));
  const target = `127.0.0.1:${engine.engine.ports.grpcPort}`;
  const example = spawn(process.execPath, ['search.mjs', target, '10000'], {
    cwd: folder,
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const exited = once(example, 'exit');
  try {
    const [line] = (await once(createInterface(example.stdout), 'line')) as [string];
    const ask = async (path: string) => {
      const response = await fetch(`http://127.0.0.1:${JSON.parse(line).port}${path}`, {
        signal: AbortSignal.timeout(20_000),
      });
      return { status: response.status, body: (await response.json()) as Record<string, unknown> };
    };
    expect(await ask('/ready')).toMatchObject({ status: 200, body: { status: 'ready' } });
    const document = 'The ferry to the island leaves at noon and returns at six.';
    const found = await ask(`/search?q=${encodeURIComponent(document)}`);
    expect(found).toMatchObject({
      status: 200,
      body: { source: 'cross-encoder', hits: [{ id: 'doc-2', text: document }, {}, {}] },
    });
    expect(await ask('/search?q=')).toEqual({ status: 400, body: { error: 'ARGUMENT_INVALID' } });
  } finally {
    example.kill('SIGTERM');
    expect(await exited).toEqual([0, null]);
  }
});
