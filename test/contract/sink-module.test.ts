/** A sink from outside the package that is wrong in one way or another is refused at start, and says in which. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { loadModuleSink } from '../../src/sinks/module/load.ts';
import { silentLog } from '../../src/telemetry/log.ts';
import { contractOf, rowOf } from './sink-rows.ts';

const folder = mkdtempSync(join(tmpdir(), 'rag-sink-module-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const METHODS = ['open', 'inspect', 'write', 'remove', 'ping', 'count', 'search', 'fetch', 'close'];
/** A sink whose methods answer nothing, with some of them replaced. */
const sinkWith = (changes: string) =>
  `export const createSink = () => ({ name: 'mine', ${METHODS.map((name) => `${name}: async () => {}`).join(', ')}, ${changes} });`;

let files = 0;
function fileWith(text: string, extension = 'mjs'): string {
  const path = join(folder, `module-${++files}.${extension}`);
  writeFileSync(path, text);
  return path;
}

const load = (module: string, limits = {}) =>
  loadModuleSink(
    { module, options: {}, tombstoneRetentionMs: 60_000, allowMixedFingerprints: false, ...limits },
    silentLog,
  );

describe('a module that is no sink is refused with the setting and what is wrong', () => {
  const cases: { readonly name: string; readonly module: () => string; readonly says: RegExp }[] = [
    { name: 'no such file', module: () => join(folder, 'gone.mjs'), says: /no such file/ },
    { name: 'no such package', module: () => '@nobody/has-this-sink', says: /no such package is installed/ },
    { name: 'a folder', module: () => folder, says: /is a folder/ },
    { name: 'a broken file', module: () => fileWith('export const = 1;'), says: /cannot be loaded \(/ },
    {
      name: 'a file that throws',
      module: () => fileWith('throw new Error("at load");'),
      says: /cannot be loaded \(Error: at load/,
    },
    {
      name: 'no factory',
      module: () => fileWith('export const other = 1;'),
      says: /no function createSink \(it exports other\)/,
    },
    {
      name: 'a factory that throws',
      module: () => fileWith('export const createSink = () => { throw new Error("x"); };'),
      says: /createSink threw/,
    },
    { name: 'no object', module: () => fileWith('export const createSink = () => 7;'), says: /gave no object/ },
    {
      name: 'missing methods',
      module: () => fileWith(sinkWith('write: 1, fetch: undefined')),
      says: /lacks the methods write, fetch/,
    },
    { name: 'a bad name', module: () => fileWith(sinkWith("name: 'My Sink'")), says: /no usable name/ },
    {
      name: 'a load without end',
      module: () => fileWith('await new Promise(() => {});'),
      says: /loading it has not ended within 500 ms/,
    },
    {
      name: 'a factory without end',
      module: () => fileWith('export const createSink = () => new Promise(() => {});'),
      says: /createSink has not ended within 500 ms/,
    },
  ];
  for (const { name, module, says } of cases) {
    it(name, async () => {
      await expect(load(module(), { loadTimeoutMs: 500 })).rejects.toMatchObject({
        code: 'CONFIG_INVALID',
        message: expect.stringMatching(new RegExp(`^RAG_SERVING_SINK_MODULE .*${says.source}`)),
      });
    });
  }
});

describe('a module that breaks a promise later', () => {
  it('a call that never answers is an outage, and so is an error of its own', async () => {
    const sink = await load(
      fileWith(sinkWith("write: () => new Promise(() => {}), ping: () => { throw new Error('x'); }")),
      {
        callTimeoutMs: 200,
      },
    );
    await expect(sink.write([rowOf('a')])).rejects.toMatchObject({ code: 'SINK_UNAVAILABLE', failureClass: 'outage' });
    await expect(sink.ping()).rejects.toMatchObject({ code: 'SINK_UNAVAILABLE' });
  });

  it('an answer that does not say of each row what became of it stops the worker: nothing counts as stored', async () => {
    const sink = await load(fileWith(sinkWith("write: async () => [{ kind: 'stored' }]")));
    await expect(sink.write([rowOf('a'), rowOf('b')])).rejects.toMatchObject({
      failureClass: 'fatal',
      message: expect.stringMatching(/1 outcomes.*2 rows/),
    });
  });

  it('an error of another copy of this package keeps its code', async () => {
    const error = "Object.assign(new Error('full'), { name: 'ServingError', code: 'SINK_FULL', details: {} })";
    const sink = await load(fileWith(sinkWith(`open: async () => { throw ${error}; }`)));
    await expect(sink.open(contractOf())).rejects.toMatchObject({ code: 'SINK_FULL', failureClass: 'outage' });
  });

  it('CommonJS works as well', async () => {
    const text = `exports.createSink = ${sinkWith('').replace('export const createSink = ', '')}`;
    expect((await load(fileWith(text, 'cjs'))).name).toBe('mine');
  });
});
