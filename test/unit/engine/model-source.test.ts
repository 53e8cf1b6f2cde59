import { chmodSync, existsSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { resolveModel } from '../../../src/engine/model-source.ts';
import type { ServingError } from '../../../src/errors.ts';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'rag-model-source-'));
});
afterEach(() => rmSync(folder, { recursive: true }));

/** Stands in for python3, for faults that a working one cannot be made to show. */
function fakePython(script: string): string {
  const path = join(folder, 'python');
  writeFileSync(path, `#!/bin/sh\n${script}\n`);
  chmodSync(path, 0o755);
  return path;
}

async function failureOf(options: Parameters<typeof resolveModel>[0]): Promise<ServingError> {
  return resolveModel(options).then(
    () => expect.unreachable(),
    (error: ServingError) => error,
  );
}

describe('a model folder', () => {
  it('is taken as it is, with the hashes of its files', async () => {
    writeFileSync(join(folder, 'model.onnx'), 'abc');
    writeFileSync(join(folder, 'tokenizer.json'), '{}');
    const files = await resolveModel({ modelDir: folder, cacheDir: '/nowhere' });
    expect(files.modelSha256).toBe('ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad');
    expect(files).toMatchObject({ modelPath: join(folder, 'model.onnx'), maxPositions: 512 });
    writeFileSync(join(folder, 'config.json'), '{"max_position_embeddings": 64, "hidden_size": 8}');
    expect((await resolveModel({ modelDir: folder, cacheDir: '/nowhere' })).maxPositions).toBe(64);
  });

  it('without one of its files is refused by name', async () => {
    writeFileSync(join(folder, 'model.onnx'), 'abc');
    const error = await failureOf({ modelDir: folder, cacheDir: '/nowhere' });
    expect(error.code).toBe('ENGINE_MODEL_INVALID');
    expect(error.message).toContain('has no tokenizer.json');
  });

  it('with a broken config.json is refused', async () => {
    writeFileSync(join(folder, 'model.onnx'), 'abc');
    writeFileSync(join(folder, 'tokenizer.json'), '{}');
    writeFileSync(join(folder, 'config.json'), '{');
    expect((await failureOf({ modelDir: folder, cacheDir: '/nowhere' })).code).toBe('ENGINE_MODEL_INVALID');
  });
});

describe('fetching the default model', () => {
  const cases = [
    { name: 'python is missing', python: () => '/nonexistent/python3', says: '/nonexistent/python3 is not installed' },
    {
      name: 'pip is missing',
      python: () => fakePython('echo "/usr/bin/python3: No module named pip" >&2; exit 1'),
      says: 'has no pip; install pip',
    },
    {
      name: 'the network is missing',
      python: () => fakePython('echo "ERROR: No matching distribution for https://joe:pw-SENTINEL@host/x" >&2; exit 1'),
      says: 'check the network',
    },
  ];
  for (const { name, python, says } of cases) {
    it(`says what to do when ${name}, and shows no credentials`, async () => {
      const error = await failureOf({ cacheDir: folder, python: python() });
      expect(error.code).toBe('DEPENDENCY_MISSING');
      expect(error.message).toContain(says);
      expect(error.message).toContain('--model-dir');
      expect(error.message).not.toContain('pw-SENTINEL');
    });
  }

  it('refuses a file with another checksum, and leaves nothing behind', async () => {
    // Downloads nothing and unpacks a wrong model: `-c CODE WHEELS MEMBER TARGET`.
    const python = fakePython('if [ "$1" = -c ]; then printf wrong > "$5"; fi');
    const error = await failureOf({ cacheDir: folder, python });
    expect(error.code).toBe('ENGINE_MODEL_INVALID');
    expect(error.message).toMatch(/model\.onnx from .* has SHA-256 .*, expected 8199be6f/);
    const models = join(folder, 'models');
    expect(readdirSync(models)).toEqual(['all-MiniLM-L6-v2-int8']);
    expect(readdirSync(join(models, 'all-MiniLM-L6-v2-int8'))).toEqual([]);
  });

  it('stops when asked to, and leaves nothing behind', async () => {
    const stop = new AbortController();
    const python = fakePython('exec sleep 30');
    const fetching = resolveModel({ cacheDir: folder, python, onProgress: () => stop.abort() }, stop.signal);
    await expect(fetching).rejects.toMatchObject({ code: 'DEPENDENCY_MISSING' });
    expect(existsSync(join(folder, 'models', 'all-MiniLM-L6-v2-int8', 'model.onnx'))).toBe(false);
    expect(readdirSync(join(folder, 'models'))).toEqual(['all-MiniLM-L6-v2-int8']);
  });
});
