/** What an engine was built for, and whether it runs here. */
import { describe, expect, it } from 'vitest';
import { mismatches } from '../../../src/registry/compatibility.ts';
import { engineBuildOf, readEngineNote } from '../../../src/registry/engine-note.ts';

describe('readEngineNote', () => {
  it('reads what build-trt-engine writes', () => {
    const note = {
      format: 'rag-serving-trt-engine/1',
      status: 'built',
      engine: { file: 'model.plan', bytes: 9, sha256: 'f'.repeat(64) },
      tensorrt: '10.3.0',
      cuda: null,
      gpu: { name: 'NVIDIA L4', computeCapability: '8.9' },
      fingerprint: { model: 'minilm', dims: '384' },
    };
    expect(readEngineNote(JSON.stringify(note))).toEqual({
      gpu: 'NVIDIA L4',
      computeCapability: '8.9',
      tensorrt: '10.3.0',
      cuda: undefined,
      fingerprint: { model: 'minilm', dims: '384' },
      sha256: 'f'.repeat(64),
    });
  });
  it('reads other spellings', () => {
    const note = { gpu: 'A10G', compute_capability: 8.6, tensorrt_version: { version: '10.0.1' }, cuda_version: 12.4 };
    expect(readEngineNote(JSON.stringify(note))).toMatchObject({
      gpu: 'A10G',
      computeCapability: '8.6',
      tensorrt: '10.0.1',
      cuda: '12.4',
    });
  });
  it('is nothing for what is no note', () => {
    for (const text of ['', '[]', '"x"', '{"gpu": 5, "tensorrt": []}']) expect(readEngineNote(text)).toBeUndefined();
  });
});

describe('engineBuildOf', () => {
  const l4 = { gpu: 'NVIDIA L4', computeCapability: '8.9', tensorrt: '10.3.0' };
  it('takes what the notes agree on, and options before them', () => {
    expect(engineBuildOf([l4, l4], {})).toEqual({ ...l4, cuda: null });
    expect(engineBuildOf([l4, { ...l4, gpu: 'A10G' }], { gpu: 'T4', cuda: '12.5' })).toMatchObject({
      gpu: 'T4',
      cuda: '12.5',
    });
  });
  const wrong: [name: string, notes: object[], flags: object, says: RegExp][] = [
    ['nothing is known', [], {}, /add --gpu "NVIDIA L4" and --tensorrt 10\.3\.0/],
    ['no TensorRT is known', [{ gpu: 'L4' }], {}, /add --tensorrt/],
    ['notes disagree', [l4, { ...l4, tensorrt: '10.4.0' }], {}, /disagree about the TensorRT version.*--tensorrt/],
    ['a version is none', [l4], { tensorrt: 'ten' }, /written as 10\.3\.0/],
    ['a capability is none', [l4], { computeCapability: 'sm_89' }, /written as 8\.9/],
  ];
  for (const [name, notes, flags, says] of wrong) {
    it(`refuses where ${name}`, () => expect(() => engineBuildOf(notes, flags)).toThrow(says));
  }
});

describe('mismatches', () => {
  const engine = { gpu: 'NVIDIA A10G', computeCapability: '8.6', tensorrt: '10.3.0', cuda: null };
  const gpu = { name: 'A10G', computeCapability: '8.6' };
  const cases: [name: string, machine: Parameters<typeof mismatches>[1], says: RegExp[]][] = [
    ['the same machine, spelled otherwise', { gpus: [{ ...gpu, name: 'nvidia a10g' }], tensorrt: '10.3.0.26' }, []],
    [
      'a capability that is not told',
      { gpus: [{ name: 'A10G', computeCapability: undefined }], tensorrt: '10.3.0' },
      [],
    ],
    [
      'one of two GPUs of another kind',
      { gpus: [gpu, { ...gpu, name: 'NVIDIA L4' }], tensorrt: '10.3.0' },
      [/NVIDIA L4/],
    ],
    ['the name of another, as a beginning', { gpus: [{ ...gpu, name: 'NVIDIA A10' }], tensorrt: '10.3.0' }, [/A10$/]],
    ['another patch of TensorRT', { gpus: [gpu], tensorrt: '10.3.1' }, [/needs TensorRT 10\.3\.0.*10\.3\.1/]],
    ['no GPU', { gpus: [], tensorrt: '10.3.0' }, [/no GPU is found/]],
    [
      'nothing known',
      { gpus: undefined, tensorrt: undefined },
      [/no GPU is found/, /none is found here; name one with --tensorrt/],
    ],
    [
      'another capability',
      { gpus: [{ ...gpu, computeCapability: '8.9' }], tensorrt: '10.3.0' },
      [/capability 8\.6.*8\.9/],
    ],
  ];
  for (const [name, machine, says] of cases) {
    it(name, () => {
      const reasons = mismatches(engine, machine);
      expect(reasons).toHaveLength(says.length);
      for (const [index, pattern] of says.entries()) expect(reasons[index]).toMatch(pattern);
    });
  }
});
