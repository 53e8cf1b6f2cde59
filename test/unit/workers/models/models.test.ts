/** What `models` finds out of this machine, and how it shows things. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { parseDuration } from '../../../../src/registry/gc.ts';
import { lineWatcher } from '../../../../workers/models/progress.ts';
import { installedTensorrt, parseGpus, thisMachine } from '../../../../workers/models/this-machine.ts';
import { bytesText } from '../../../../workers/tool/bytes-text.ts';

let folder = '';
afterEach(() => folder && rmSync(folder, { recursive: true, force: true }));

describe('this machine', () => {
  it('reads the GPUs of nvidia-smi', () => {
    expect(parseGpus('NVIDIA L4, 8.9\nTesla T4, 7.5\n')).toEqual([
      { name: 'NVIDIA L4', computeCapability: '8.9' },
      { name: 'Tesla T4', computeCapability: '7.5' },
    ]);
    expect(parseGpus('Tesla K80, [N/A]\n')).toEqual([{ name: 'Tesla K80', computeCapability: undefined }]);
    expect(parseGpus('\n')).toEqual([]);
  });
  it('asks the nvidia-smi of the PATH, and is content without one; options go before', async () => {
    folder = mkdtempSync(join(tmpdir(), 'rag-machine-'));
    writeFileSync(join(folder, 'nvidia-smi'), '#!/bin/sh\necho "NVIDIA L4, 8.9"\n', { mode: 0o755 });
    const env = { PATH: `${folder}:/bin:/usr/bin`, LD_LIBRARY_PATH: '' };
    expect((await thisMachine({}, env)).gpus).toEqual([{ name: 'NVIDIA L4', computeCapability: '8.9' }]);
    expect((await thisMachine({}, { PATH: '/nowhere' })).gpus).toBeUndefined();
    expect(await thisMachine({ gpu: 'A10G', tensorrt: '10.3.0' }, env)).toEqual({
      gpus: [{ name: 'A10G', computeCapability: undefined }],
      tensorrt: '10.3.0',
    });
  });
  it('finds TensorRT by its library, and nothing where there are several', async () => {
    folder = mkdtempSync(join(tmpdir(), 'rag-machine-'));
    mkdirSync(join(folder, 'other'));
    for (const name of ['libnvinfer.so.10', 'libnvinfer.so.10.3.0', 'libnvinfer_plugin.so.10.4.0', 'libm.so.6']) {
      writeFileSync(join(folder, name), '');
    }
    expect(await installedTensorrt([folder, ''], [])).toBe('10.3.0');
    writeFileSync(join(folder, 'other/libnvinfer.so.8.6.1'), '');
    expect(await installedTensorrt([folder], [join(folder, 'other')])).toBeUndefined();
    expect(await installedTensorrt([join(folder, 'none')], [])).toBeUndefined();
  });
});

it('says sizes and reads times', () => {
  expect([0, 1_023, 1_024, 1_610_612_736, 2 ** 60].map(bytesText)).toEqual([
    '0 B',
    '1023 B',
    '1.0 KiB',
    '1.5 GiB',
    '1048576.0 TiB',
  ]);
  expect(['0m', '90m', '24h', '7d'].map(parseDuration)).toEqual([0, 5_400_000, 86_400_000, 604_800_000]);
  for (const text of ['', '5', 'h', '-1h', '1.5h', '1w']) expect(() => parseDuration(text)).toThrow(/such as 24h/);
});

it('a line of progress now and then, also after bytes that did not count', () => {
  const lines: string[] = [];
  let now = 0;
  const watcher = lineWatcher({ write: (text) => lines.push(text) }, () => now);
  watcher.begin('pull', 2_048);
  watcher.moved(1_024);
  now = 5_000;
  watcher.moved(-512);
  watcher.note('waiting');
  now = 6_000;
  watcher.moved(1);
  expect(lines).toEqual(['pull: 2.0 KiB\n', 'pull: 25% of 2.0 KiB\n', 'waiting\n']);
});
