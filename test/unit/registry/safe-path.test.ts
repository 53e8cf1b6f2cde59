/** A manifest may be hostile: no file of it may land outside of the folder, or on top of another. */
import { describe, expect, it } from 'vitest';
import { decodeManifest } from '../../../src/registry/manifest.ts';
import { clashingPath, pathProblem, RECEIPT_NAME } from '../../../src/registry/safe-path.ts';

describe('pathProblem', () => {
  for (const path of ['model.plan', '1/model.plan', 'a/b/c.d', '.hidden', '..a/b', 'a..b', 'größe/模型.onnx']) {
    it(`takes ${path}`, () => expect(pathProblem(path)).toBeUndefined());
  }
  const bad: [path: string, says: RegExp][] = [
    ['', /empty/],
    ['/etc/passwd', /absolute/],
    ['C:/x', /absolute/],
    ['../x', /"\.\."/],
    ['a/../../x', /"\.\."/],
    ['a/..', /"\.\."/],
    ['./a', /"\."/],
    ['a//b', /empty part/],
    ['a/', /empty part/],
    ['..\\x', /backslash/],
    ['a\0b', /control/],
    ['a\nb', /control/],
    ['x'.repeat(256), /255/],
    [`${'a/'.repeat(600)}b`, /1024/],
    [RECEIPT_NAME, /note/],
  ];
  for (const [path, says] of bad) {
    it(`refuses ${JSON.stringify(path).slice(0, 30)}`, () => expect(pathProblem(path)).toMatch(says));
  }
});

describe('clashingPath', () => {
  it('finds the same name twice, also in another case or form, and a file that is a folder too', () => {
    expect(clashingPath(['a', 'b/a', 'b/c'])).toBeUndefined();
    expect(clashingPath(['a', 'a'])).toBe('a');
    expect(clashingPath(['Model', 'model'])).toBe('model');
    expect(clashingPath(['\u00e9', 'e\u0301'])).toBe('e\u0301');
    expect(clashingPath(['a', 'a/b'])).toBe('a/b');
    expect(clashingPath(['a/b', 'a'])).toBe('a');
  });
});

describe('decodeManifest', () => {
  const file = { path: 'a', sha256: 'a'.repeat(64), sizeBytes: 1 };
  const whole = {
    format: 'rag-serving-model/1',
    name: 'm',
    version: '1',
    createdAt: '2026-01-01T00:00:00Z',
    kind: 'files',
    engine: null,
    fingerprint: null,
    golden: null,
    sourceRevision: null,
    files: [file],
  };
  const decode = (value: unknown) => decodeManifest(Buffer.from(JSON.stringify(value)), 'here');

  it('takes a whole one', () => expect(decode(whole).manifest.files).toEqual([file]));
  const bad: [name: string, change: object, says: RegExp][] = [
    ['a newer format', { format: 'rag-serving-model/2' }, /here is no manifest that this version reads: format/],
    ['a path that climbs', { files: [{ ...file, path: '../a' }] }, /files\.0\.path: a path that has a part/],
    ['a checksum that is none', { files: [{ ...file, sha256: '../../a' }] }, /files\.0\.sha256/],
    ['a negative size', { files: [{ ...file, sizeBytes: -1 }] }, /files\.0\.sizeBytes/],
    ['no files', { files: [] }, /files/],
    ['two files of one path', { files: [file, file] }, /two files share the path "a"/],
    ['an engine of nothing', { kind: 'engine' }, /does not say what it was built for/],
    ['golden texts that are not there', { golden: 'b' }, /"golden" names no file/],
  ];
  for (const [name, change, says] of bad) {
    it(`refuses ${name}`, () => expect(() => decode({ ...whole, ...change })).toThrow(says));
  }
  it('refuses what is no JSON without quoting it', () => {
    const error = (() => {
      try {
        decodeManifest(Buffer.from('SENTINEL'), 'here');
      } catch (thrown) {
        return thrown as Error;
      }
      return undefined;
    })();
    expect(error?.message).toBe('here is no JSON (8 bytes); push the model again');
  });
});
