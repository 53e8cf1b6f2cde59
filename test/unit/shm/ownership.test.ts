import { mkdir, mkdtemp, readdir, readFile, rename, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { ServingError } from '../../../src/errors.ts';
import { claimIncarnation, type Incarnation } from '../../../src/shm/ownership.ts';
import { ownerFileName, randomNonce, regionName, registrationName } from '../../../src/shm/region-name.ts';
import { sweepDead, sweepRegistrations } from '../../../src/shm/sweep.ts';
import { FakeShmServer } from '../../support/shm/fake-shm-server.ts';

const TIMEOUT_MS = 100;
let basePath: string;
let living: Incarnation[];

beforeEach(async () => {
  // Any tmpfs folder will do here: a socket asks its own folder. A path as short as /dev/shm, for sun_path.
  basePath = await mkdtemp(join(tmpdir(), 'rag-'));
  living = [];
});
afterEach(async () => {
  for (const one of living) await one.release();
  await rm(basePath, { recursive: true, force: true });
});

async function claim(workerId: string, nonce?: () => string) {
  const claimed = await claimIncarnation({ basePath, workerId, ...(nonce === undefined ? {} : { nonce }) });
  living.push(claimed.incarnation);
  return claimed;
}

/** What a SIGKILL leaves: a socket file without a listener, and the region. */
async function leaveDead(
  workerId: string,
  parts: readonly ('owner' | 'region')[] = ['owner', 'region'],
): Promise<string> {
  const nonce = randomNonce();
  if (parts.includes('region')) await writeFile(join(basePath, regionName(workerId, nonce)), 'old bytes');
  if (parts.includes('owner')) {
    const bound = join(basePath, 'bound');
    const server = createServer();
    await new Promise<void>((resolve) => server.listen(bound, resolve));
    await rename(bound, join(basePath, ownerFileName(workerId, nonce)));
    await new Promise((resolve) => server.close(resolve));
  }
  return nonce;
}

function registered(server: FakeShmServer, ...names: string[]): void {
  for (const name of names) server.regions.set(name, { name, key: `/${name}`, offset: 0, byteSize: 4096 });
}

describe('claimIncarnation', () => {
  it('refuses a second worker of the same id while the first lives, and names the setting', async () => {
    await claim('w');
    await expect(claim('w')).rejects.toMatchObject({
      code: 'SHM_INVALID',
      failureClass: 'fatal',
      message: expect.stringContaining('RAG_SERVING_WORKER_ID'),
    });
    expect(await readdir(basePath)).toHaveLength(1);
  });

  it('of two that start at the same time at most one lives', async () => {
    for (let round = 0; round < 20; round++) {
      const outcomes = await Promise.allSettled([claim(`w${round}`), claim(`w${round}`), claim(`w${round}`)]);
      expect(outcomes.filter(({ status }) => status === 'fulfilled').length).toBeLessThanOrEqual(1);
    }
  });

  it('lets workers of other ids live on the same mount, also when one id begins like the other', async () => {
    const nonces = await Promise.all(['w', 'w-1', 'w-1-2', 'w/1', 'w_1'].map((id) => claim(id)));
    expect(nonces.flatMap(({ dead }) => dead)).toEqual([]);
  });

  it('finds the dead ones of its own id, whatever is left of them', async () => {
    const expected = [await leaveDead('w'), await leaveDead('w', ['owner']), await leaveDead('w', ['region'])];
    await leaveDead('w-1');
    const { dead } = await claim('w');
    expect([...dead].sort()).toEqual(expected.sort());
  });

  it('is free again after release, and leaves no file', async () => {
    await (await claim('w')).incarnation.release();
    expect(await readdir(basePath)).toEqual([]);
    expect((await claim('w')).dead).toEqual([]);
  });

  it('takes another name when a file, a directory, a symlink or an owner is in the way (T03)', async () => {
    const nonces = Array.from({ length: 5 }, (_, i) => `000000000000000${i}`);
    const [file, folder, link, owner, free] = nonces.map((nonce) => join(basePath, regionName('w', nonce)));
    await writeFile(file!, 'old');
    await mkdir(folder!);
    await symlink(join(basePath, 'nowhere'), link!);
    await writeFile(`${owner!}.owner`, '');
    const { incarnation } = await claim('w', () => nonces.shift()!);
    expect(join(basePath, incarnation.regionName)).toBe(free);
    expect(await readdir(basePath)).not.toContain('nowhere');
  });

  it('fails with a clear message when every name is taken', async () => {
    await writeFile(join(basePath, regionName('w', '0000000000000000')), '');
    await expect(claim('w', () => '0000000000000000')).rejects.toMatchObject({ code: 'SHM_INVALID' });
  });

  it('fails with a clear message when no socket can be made', async () => {
    await expect(claimIncarnation({ basePath: join(basePath, 'absent'), workerId: 'w' })).rejects.toMatchObject({
      code: 'SHM_INVALID',
      message: expect.stringContaining('owner socket'),
    });
  });
});

describe('sweepDead', () => {
  it('unregisters by name and removes the files of the dead, and of nobody else', async () => {
    const server = new FakeShmServer();
    const other = await leaveDead('w-1');
    const dead = [await leaveDead('w'), await leaveDead('w', ['region'])];
    const again = registrationName(regionName('w', dead[0]!), 7);
    const names = [...dead.map((nonce) => regionName('w', nonce)), again];
    registered(server, ...names, regionName('w-1', other), 'somebody-elses');
    const report = await sweepDead(server, { basePath, workerId: 'w', dead }, TIMEOUT_MS);
    expect(report).toMatchObject({ registrations: names, left: [] });
    expect(report.files).toHaveLength(3);
    expect([...server.regions.keys()]).toEqual([regionName('w-1', other), 'somebody-elses']);
    expect(await readdir(basePath)).toHaveLength(2);
  });

  it('leaves a directory and a symlink of such a name alone, and reports them (T03)', async () => {
    const target = join(basePath, 'target');
    await writeFile(target, 'precious');
    const dead = [randomNonce(), randomNonce()];
    await mkdir(join(basePath, regionName('w', dead[0]!)));
    await symlink(target, join(basePath, regionName('w', dead[1]!)));
    const { left } = await sweepDead(new FakeShmServer(), { basePath, workerId: 'w', dead }, TIMEOUT_MS);
    expect(left.map(({ name }) => name)).toEqual(dead.map((nonce) => regionName('w', nonce)));
    expect(await readFile(target, 'utf8')).toBe('precious');
    expect((await stat(join(basePath, regionName('w', dead[0]!)))).isDirectory()).toBe(true);
  });

  it('removes the files although the server is away, and asks it only once', async () => {
    const server = new FakeShmServer();
    server.unregisterFails = new ServingError('INFERENCE_UNAVAILABLE', 'away');
    const dead = [await leaveDead('w'), await leaveDead('w'), await leaveDead('w')];
    const report = await sweepDead(server, { basePath, workerId: 'w', dead }, TIMEOUT_MS);
    expect(server.calls).toHaveLength(1);
    expect(report.left).toHaveLength(3);
    expect(await readdir(basePath)).toEqual([]);
  });
});

describe('sweepRegistrations', () => {
  it('unregisters what the server still holds of our worker id, except ours', async () => {
    const server = new FakeShmServer();
    const own = regionName('w', randomNonce());
    const gone = registrationName(regionName('w', randomNonce()), 3);
    const kept = [own, regionName('w-1', randomNonce()), 'rag-w-other', ''];
    registered(server, ...kept, gone);
    expect(await sweepRegistrations(server, 'w', own, TIMEOUT_MS)).toEqual({
      files: [],
      registrations: [gone],
      left: [],
    });
    expect([...server.regions.keys()]).toEqual(kept);
  });
});
