import {
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  truncateSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { RegionRegistry } from '../../../src/engine/regions.ts';
import { WireFault } from '../../../src/engine/wire-fault.ts';

const SIZE = 8192;
let folder: string;
let registry: RegionRegistry;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'rag-regions-'));
  registry = new RegionRegistry({ basePath: folder, allowClientSharedMemory: true });
  writeFileSync(join(folder, 'in'), Buffer.alloc(SIZE, 1));
  writeFileSync(join(folder, 'out'), Buffer.alloc(SIZE, 2));
});
afterEach(() => {
  registry.close();
  rmSync(folder, { recursive: true });
});

function register(name = 'a', key = '/in', byteSize = SIZE, offset = 0): void {
  registry.register({ name, key, offset, byteSize });
}

function faultOf(act: () => unknown): { status: string; message: string } | 'no fault' {
  try {
    act();
    return 'no fault';
  } catch (error) {
    if (!(error instanceof WireFault)) throw error;
    return { status: error.status, message: error.message };
  }
}

describe('registration', () => {
  it('reports what is registered, all or by name', () => {
    register('a', '/in');
    register('b', '/out', 4096, 4096);
    expect(registry.status('').map(({ name }) => name)).toEqual(['a', 'b']);
    expect(registry.status('b')).toMatchObject([{ name: 'b', key: '/out', offset: 4096, byteSize: 4096 }]);
  });

  const refusals: { name: string; act: () => void; status: string; message: string }[] = [
    {
      name: 'a name that is taken',
      act: () => register('taken', '/out'),
      status: 'ALREADY_EXISTS',
      message: "shared memory region 'taken' already in manager",
    },
    {
      name: 'a second name on a registered key',
      act: () => register('b', '/in'),
      status: 'INTERNAL',
      message: "Invalid shared memory region: '/in'",
    },
    {
      name: 'a key that does not exist',
      act: () => register('b', '/nothing'),
      status: 'INTERNAL',
      message: "Unable to open shared memory region: '/nothing'",
    },
    {
      name: 'a key with a folder in it',
      act: () => register('b', '/sub/dir'),
      status: 'INTERNAL',
      message: "Unable to open shared memory region: '/sub/dir'",
    },
    {
      name: 'a key that leaves the mount',
      act: () => register('b', '/..'),
      status: 'INTERNAL',
      message: "Unable to open shared memory region: '/..'",
    },
    {
      name: 'one byte more than the file has',
      act: () => register('b', '/out', SIZE + 1),
      status: 'INVALID_ARGUMENT',
      message: "failed to register shared memory region 'b': invalid args",
    },
    {
      name: 'an offset at the end of the file',
      act: () => register('b', '/out', 64, SIZE),
      status: 'INVALID_ARGUMENT',
      message: "failed to register shared memory region 'b': invalid args",
    },
    {
      name: 'an offset that is not on a page',
      act: () => register('b', '/out', 64, 100),
      status: 'INVALID_ARGUMENT',
      message: "failed to register shared memory region 'b': unable to process address spaceInvalid argument",
    },
    {
      name: 'no bytes at all',
      act: () => register('b', '/out', 0),
      status: 'INVALID_ARGUMENT',
      message: "failed to register shared memory region 'b': unable to process address spaceInvalid argument",
    },
    {
      name: 'an unknown name at status',
      act: () => registry.status('b'),
      status: 'NOT_FOUND',
      message: "Unable to find system shared memory region: 'b'",
    },
  ];
  for (const { name, act, status, message } of refusals) {
    it(`refuses ${name} in the words of Triton`, () => {
      register('taken', '/in');
      expect(faultOf(act)).toEqual({ status, message });
      expect(registry.status('')).toHaveLength(1);
    });
  }

  it('opens neither a folder nor what a link points to', () => {
    mkdirSync(join(folder, 'dir'));
    writeFileSync(join(folder, 'secret'), Buffer.alloc(SIZE));
    symlinkSync(join(folder, 'secret'), join(folder, 'link'));
    expect(faultOf(() => register('d', '/dir'))).toMatchObject({ status: 'INTERNAL' });
    expect(faultOf(() => register('l', '/link'))).toMatchObject({ status: 'INTERNAL' });
  });

  it('lets a key be registered again after it was unregistered', () => {
    register('a');
    registry.unregister('a');
    register('b');
    expect(registry.status('').map(({ name }) => name)).toEqual(['b']);
  });

  it('takes an unknown name at unregister, and the empty name for all', () => {
    register('a', '/in');
    register('b', '/out');
    registry.unregister('unknown');
    expect(registry.status('')).toHaveLength(2);
    registry.unregister('');
    expect(registry.status('')).toHaveLength(0);
  });

  it('refuses to register when client shared memory is switched off, but tells the status', () => {
    const off = new RegionRegistry({ basePath: folder, allowClientSharedMemory: false });
    const message = "Client shared memory is disabled. Start the server with '--allow-client-shm=true' to enable.";
    const info = { name: 'a', key: '/in', offset: 0, byteSize: SIZE };
    expect(faultOf(() => off.register(info))).toEqual({ status: 'UNIMPLEMENTED', message });
    expect(faultOf(() => off.unregister('a'))).toEqual({ status: 'UNIMPLEMENTED', message });
    expect(off.status('')).toEqual([]);
  });
});

describe('a window', () => {
  const windows: { name: string; region: string; offset: number; byteSize: number; fault: object | 'no fault' }[] = [
    { name: 'the whole region', region: 'a', offset: 0, byteSize: SIZE, fault: 'no fault' },
    {
      name: 'an unknown region',
      region: 'x',
      offset: 0,
      byteSize: 1,
      fault: { status: 'NOT_FOUND', message: "Unable to find shared memory region: 'x'" },
    },
    {
      name: 'an offset at the end',
      region: 'a',
      offset: SIZE,
      byteSize: 1,
      fault: { status: 'INVALID_ARGUMENT', message: "Invalid offset for shared memory region: 'a'" },
    },
    {
      name: 'one byte past the end',
      region: 'a',
      offset: 8,
      byteSize: SIZE - 7,
      fault: { status: 'INVALID_ARGUMENT', message: "Invalid offset + byte size for shared memory region: 'a'" },
    },
  ];
  for (const { name, fault, ...range } of windows) {
    it(`on ${name} is ${fault === 'no fault' ? 'given' : 'refused'}`, () => {
      register();
      expect(faultOf(() => registry.window(range))).toEqual(fault);
    });
  }

  it('reads and writes at its place in the file, counted from the registered offset', () => {
    registry.register({ name: 'a', key: '/in', offset: 4096, byteSize: 4096 });
    registry.window({ region: 'a', offset: 8, byteSize: 4 }).write(Uint8Array.of(9, 8, 7, 6));
    expect([...readFileSync(join(folder, 'in')).subarray(4102, 4110)]).toEqual([1, 1, 9, 8, 7, 6, 1, 1]);
    expect([...registry.window({ region: 'a', offset: 7, byteSize: 3 }).read()]).toEqual([1, 9, 8]);
  });

  it('keeps the old memory when the file is unlinked and made anew (until it is registered again)', () => {
    register();
    unlinkSync(join(folder, 'in'));
    writeFileSync(join(folder, 'in'), Buffer.alloc(SIZE, 7));
    const window = registry.window({ region: 'a', offset: 0, byteSize: 1 });
    expect([...window.read()]).toEqual([1]);
    window.release();
    registry.unregister('a');
    register();
    expect([...registry.window({ region: 'a', offset: 0, byteSize: 1 }).read()]).toEqual([7]);
  });

  it('keeps its region: neither unregistered nor registered anew before the running request has ended', () => {
    register();
    const window = registry.window({ region: 'a', offset: 0, byteSize: 2 });
    const message = "Cannot unregister shared memory region 'a', it is currently in use.";
    expect(faultOf(() => registry.unregister('a'))).toEqual({ status: 'INTERNAL', message });
    expect(faultOf(() => registry.unregister(''))).toMatchObject({ status: 'INTERNAL' });
    expect(faultOf(register)).toMatchObject({ status: 'ALREADY_EXISTS' });
    window.write(Uint8Array.of(5, 5));
    window.release();
    window.release();
    registry.unregister('a');
    expect([...readFileSync(join(folder, 'in')).subarray(0, 2)]).toEqual([5, 5]);
    register();
  });

  it('is an error, not a crash, when the file was cut after registration', () => {
    register();
    const window = registry.window({ region: 'a', offset: 0, byteSize: SIZE });
    truncateSync(join(folder, 'in'), 100);
    expect(faultOf(() => window.read())).toMatchObject({ status: 'INTERNAL' });
    expect(faultOf(() => window.write(new Uint8Array(SIZE)))).toMatchObject({ status: 'INTERNAL' });
    expect(readFileSync(join(folder, 'in'))).toHaveLength(100);
  });
});
