/**
 * The template of docs/sinks/template as its reader uses it: copied, compiled against the built package, run under Node's own
 * test runner with the package's contract cases, then loaded by the worker's registry. Needs `npm run build`.
 */
import { execFile } from 'node:child_process';
import { appendFileSync, cpSync, mkdirSync, mkdtempSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { systemClock } from '../../src/clock.ts';
import { createSink } from '../../src/sinks/registry.ts';
import { silentLog } from '../../src/telemetry/log.ts';
import { projectRoot } from '../support/source-files.ts';
import { contractOf, rowOf } from './sink-rows.ts';

const run = promisify(execFile);
let folder: string;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'rag-sink-template-'));
  cpSync(join(projectRoot, 'docs', 'sinks', 'template'), folder, { recursive: true });
  mkdirSync(join(folder, 'node_modules'));
  symlinkSync(projectRoot, join(folder, 'node_modules', 'rag-inference-serving'));
  symlinkSync(join(projectRoot, 'node_modules', '@types'), join(folder, 'node_modules', '@types'));
  await run(join(projectRoot, 'node_modules', '.bin', 'tsc'), ['-p', '.'], { cwd: folder }).catch(({ stdout }) => {
    throw new Error(`the template does not compile:\n${stdout}`);
  });
}, 120_000);
afterAll(() => rmSync(folder, { recursive: true, force: true }));

it('keeps every promise of a sink, by the cases that the package offers', async () => {
  const { stdout } = await run(process.execPath, ['--test', '--test-reporter=tap'], { cwd: folder }).catch(
    ({ stdout }) => ({ stdout }),
  );
  expect(stdout).toMatch(/# fail 0\n/);
  expect(Number(/# pass (\d+)\n/.exec(stdout)?.[1])).toBeGreaterThan(12);
}, 60_000);

it('is loaded by its path, stores, and finds its rows again after half a line of a killed process', async () => {
  const data = join(folder, 'data');
  const open = async () => {
    const options = { folder: data, collection: 'kept' };
    const given = { options, tombstoneRetentionMs: 60_000, allowMixedFingerprints: false };
    const choice = { name: 'module', options: { module: join(folder, 'dist', 'sink.js'), ...given } } as const;
    const sink = await createSink(choice, silentLog, systemClock);
    await sink.open(contractOf());
    return sink;
  };
  const first = await open();
  expect(first.name).toBe('ndjson');
  const row = rowOf('a', { text: 'some text', offset: 2n ** 60n });
  expect(await first.write([row])).toEqual([{ kind: 'stored' }]);
  await first.close();
  appendFileSync(join(data, 'kept.ndjson'), '{"row":{"chunkId":"half');
  const second = await open();
  expect(await second.fetch(['a'])).toEqual([{ ...row, fingerprint: 'fp-one' }]);
  await second.write([rowOf('b')]);
  await second.close();
  const third = await open();
  expect(await third.count()).toBe(2);
  await third.close();
});

it('says which options it wants', async () => {
  const given = { options: {}, tombstoneRetentionMs: 60_000, allowMixedFingerprints: false };
  const choice = { name: 'module', options: { module: join(folder, 'dist', 'sink.js'), ...given } } as const;
  await expect(createSink(choice, silentLog, systemClock)).rejects.toMatchObject({
    code: 'CONFIG_INVALID',
    message: expect.stringContaining('RAG_SERVING_SINK_MODULE_OPTIONS'),
  });
});
