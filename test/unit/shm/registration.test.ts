import { describe, expect, it, vi } from 'vitest';
import { type ErrorCode, ServingError } from '../../../src/errors.ts';
import { Registration } from '../../../src/shm/registration.ts';
import { FakeShmServer } from '../../support/shm/fake-shm-server.ts';

const region = { name: 'rag-w-0123456789abcdef', key: '/rag-w-0123456789abcdef', offset: 0, byteSize: 8192 };
const other = { ...region, name: 'somebody-elses', key: '/somebody-elses' };

function registrationWith(server: FakeShmServer, onReregistered = vi.fn(), inUseWaitMs = 2_000) {
  const registration = new Registration({ client: server, region, timeoutMs: 100, onReregistered, inUseWaitMs });
  return { registration, onReregistered };
}

describe('Registration', () => {
  it('registers the whole file at offset 0', async () => {
    const server = new FakeShmServer();
    const { registration, onReregistered } = registrationWith(server);
    expect(await registration.ensureRegistered(0)).toEqual({ mode: 'shared-memory' });
    expect(server.regions.get(region.name)).toEqual(region);
    expect(registration.epoch).toBe(1);
    expect(onReregistered).not.toHaveBeenCalled();
  });

  it('eight batches that find the region gone after a restart cause one registration (T01)', async () => {
    const server = new FakeShmServer();
    const { registration, onReregistered } = registrationWith(server);
    await registration.ensureRegistered(0);
    const seen = registration.epoch;
    server.restart();
    server.calls.length = 0;
    const modes = await Promise.all(Array.from({ length: 8 }, () => registration.ensureRegistered(seen)));
    expect(modes).toEqual(Array(8).fill({ mode: 'shared-memory' }));
    // A ninth that was slow to hear of it.
    await registration.ensureRegistered(seen);
    expect(server.calls).toEqual([`unregister ${region.name}`, `register ${region.name}.2`]);
    expect(registration.regionName).toBe(`${region.name}.2`);
    expect(onReregistered).toHaveBeenCalledTimes(1);
    expect(registration.epoch).toBe(2);
  });

  it('a restart between the registration and the first batch is repaired too (T01)', async () => {
    const server = new FakeShmServer();
    const { registration } = registrationWith(server);
    for (let restarts = 0; restarts < 3; restarts++) {
      await registration.ensureRegistered(registration.epoch);
      server.restart();
    }
    await registration.ensureRegistered(registration.epoch);
    expect([...server.regions.keys()]).toEqual([`${region.name}.4`]);
  });

  it('each registration has a name of its own and leaves no other: a request that comes late names one that is gone (T17)', async () => {
    const server = new FakeShmServer();
    const { registration } = registrationWith(server);
    const names = new Set<string>();
    for (let round = 0; round < 5; round++) {
      await registration.ensureRegistered(registration.epoch);
      names.add(registration.regionName);
      expect([...server.regions.values()]).toEqual([{ ...region, name: registration.regionName }]);
    }
    expect(names.size).toBe(5);
  });

  it('a registration that was heard and not answered leaves nothing behind', async () => {
    const server = new FakeShmServer();
    const { registration } = registrationWith(server);
    const register = server.registerSharedMemory.bind(server);
    server.registerSharedMemory = async (...call) => {
      await register(...call);
      throw new ServingError('INFERENCE_DEADLINE', 'heard and not answered');
    };
    for (let attempt = 0; attempt < 3; attempt++) {
      await expect(registration.ensureRegistered(0)).rejects.toMatchObject({ code: 'INFERENCE_DEADLINE' });
    }
    server.registerSharedMemory = register;
    await registration.ensureRegistered(0);
    expect([...server.regions.keys()]).toEqual([registration.regionName]);
    await registration.close();
    expect(server.regions.size).toBe(0);
  });

  it.for([false, true])(
    'unregisters exactly its own name when that is taken, and waits while it is in use (refused: %s)',
    async (refused) => {
      const server = new FakeShmServer();
      server.refusesToUnregister = refused;
      server.regions.set(other.name, other).set(region.name, { ...region, byteSize: 4096 });
      server.inUse.set(region.name, 2);
      const { registration } = registrationWith(server);
      expect(await registration.ensureRegistered(0)).toEqual({ mode: 'shared-memory' });
      expect(new Set(server.calls)).toEqual(new Set([`register ${region.name}`, `unregister ${region.name}`]));
      expect([...server.regions.values()]).toEqual([other, region]);
    },
  );

  it('close waits a moment for a request that was given up, and then says what stays', async () => {
    const server = new FakeShmServer();
    server.refusesToUnregister = true;
    const { registration } = registrationWith(server);
    await registration.ensureRegistered(0);
    server.inUse.set(region.name, Number.POSITIVE_INFINITY);
    setTimeout(() => server.inUse.clear(), 150);
    expect(await registration.close()).toBeUndefined();
    expect(server.regions.size).toBe(0);

    const another = registrationWith(server).registration;
    await another.ensureRegistered(0);
    server.inUse.set(region.name, Number.POSITIVE_INFINITY);
    expect(await another.close()).toMatchObject({ code: 'SHM_REGION_EXISTS' });
  });

  it('gives up on a region that stays in use, as an outage', async () => {
    const server = new FakeShmServer();
    server.inUse.set(region.name, 1_000);
    const { registration } = registrationWith(server, vi.fn(), 50);
    await expect(registration.ensureRegistered(0)).rejects.toMatchObject({
      code: 'SHM_REGION_EXISTS',
      failureClass: 'outage',
    });
  });

  const refusals: { code: ErrorCode; details?: Record<string, unknown>; reason: string }[] = [
    { code: 'SHM_UNSUPPORTED', reason: 'unsupported' },
    { code: 'SHM_UNSUPPORTED', details: { status: 'UNIMPLEMENTED' }, reason: 'unsupported' },
    { code: 'SHM_UNSUPPORTED', details: { status: 'INTERNAL' }, reason: 'not-shared' },
    { code: 'INFERENCE_UNSUPPORTED', reason: 'unsupported' },
    { code: 'INFERENCE_ACCESS_DENIED', reason: 'refused' },
    { code: 'INFERENCE_REJECTED', reason: 'refused' },
    { code: 'SHM_INVALID', reason: 'refused' },
  ];
  for (const { code, details = {}, reason } of refusals) {
    it(`goes inline (${reason}) when the server answers ${code} ${JSON.stringify(details)}`, async () => {
      const server = new FakeShmServer();
      const error = new ServingError(code, 'no', { details });
      server.registerFails = [error];
      const { registration } = registrationWith(server);
      expect(await registration.ensureRegistered(0)).toEqual({ mode: 'inline', reason, error });
      expect(registration.epoch).toBe(0);
    });
  }

  for (const code of ['INFERENCE_UNAVAILABLE', 'INFERENCE_DEADLINE', 'INFERENCE_FAILED'] as const) {
    it(`takes ${code} for no answer: everyone who waits is told, the next one tries again`, async () => {
      const server = new FakeShmServer();
      server.registerFails = [new ServingError(code, 'away')];
      const { registration } = registrationWith(server);
      const waiting = [registration.ensureRegistered(0), registration.ensureRegistered(0)];
      for (const outcome of await Promise.allSettled(waiting)) expect(outcome).toMatchObject({ reason: { code } });
      expect(await registration.ensureRegistered(0)).toEqual({ mode: 'shared-memory' });
    });
  }

  it('one caller that gives up does not end the registration of the others', async () => {
    const server = new FakeShmServer();
    let open = (): void => {};
    server.gate = new Promise((resolve) => {
      open = resolve;
    });
    const { registration } = registrationWith(server);
    const impatient = new AbortController();
    const givesUp = registration.ensureRegistered(0, impatient.signal);
    const stays = registration.ensureRegistered(0);
    impatient.abort();
    await expect(givesUp).rejects.toMatchObject({ code: 'INFERENCE_CANCELLED' });
    open();
    expect(await stays).toEqual({ mode: 'shared-memory' });
  });

  it('close unregisters its own name only, once, and nothing is registered after it', async () => {
    const server = new FakeShmServer();
    server.regions.set(other.name, other);
    const { registration } = registrationWith(server);
    await registration.ensureRegistered(0);
    expect(await registration.close()).toBeUndefined();
    expect(await registration.close()).toBeUndefined();
    expect([...server.regions.keys()]).toEqual([other.name]);
    expect(server.calls).toEqual([`register ${region.name}`, `unregister ${region.name}`]);
    await expect(registration.ensureRegistered(1)).rejects.toMatchObject({ code: 'INFERENCE_CANCELLED' });
  });

  it('a registration that is under way at close leaves nothing registered', async () => {
    const server = new FakeShmServer();
    let open = (): void => {};
    server.gate = new Promise((resolve) => {
      open = resolve;
    });
    const { registration } = registrationWith(server);
    const late = registration.ensureRegistered(0);
    const closed = registration.close();
    open();
    await expect(late).rejects.toThrow();
    await closed;
    expect(server.regions.size).toBe(0);
    expect(server.calls.at(-1)).toBe(`unregister ${region.name}`);
  });

  it('close reports an error and does not throw it', async () => {
    const server = new FakeShmServer();
    const { registration } = registrationWith(server);
    await registration.ensureRegistered(0);
    server.unregisterFails = new ServingError('INFERENCE_UNAVAILABLE', 'away');
    expect(await registration.close()).toMatchObject({ code: 'INFERENCE_UNAVAILABLE' });
  });

  it('refuses the empty name, which would mean all regions of everybody', () => {
    const options = { client: new FakeShmServer(), region: { ...region, name: '' }, timeoutMs: 100 };
    expect(() => new Registration(options)).toThrow(/empty/);
  });
});
