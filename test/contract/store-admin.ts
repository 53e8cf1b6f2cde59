/** The promises of src/sinks/store-admin.ts and what is built on them, against each real store. */
import { describe, expect, it, onTestFinished } from 'vitest';
import { systemClock } from '../../src/clock.ts';
import { currentChoice, readChangeover, updateChangeover } from '../../src/sinks/changeover.ts';
import { createSink } from '../../src/sinks/registry.ts';
import type { Sink } from '../../src/sinks/sink.ts';
import {
  type CollectionChoice,
  collectionNameOf,
  createStoreAdmin,
  oneCollection,
  type StoreAdmin,
  withCollection,
} from '../../src/sinks/store-admin.ts';
import { silentLog } from '../../src/telemetry/log.ts';
import { freshCollection } from './sink-contract.ts';
import { contractOf, deletionOf, rowOf } from './sink-rows.ts';

export function describeStoreAdmin(name: string, choiceOf: (collection: string) => CollectionChoice): void {
  async function adminOf(collection: string): Promise<StoreAdmin> {
    const admin = await createStoreAdmin(choiceOf(collection), silentLog);
    onTestFinished(() => admin.close());
    return admin;
  }

  async function sinkOf(collection: string): Promise<Sink> {
    const sink = await createSink(choiceOf(collection), silentLog, systemClock);
    onTestFinished(() => sink.close());
    await sink.open(contractOf());
    return sink;
  }

  describe(`notes and collections of ${name}`, () => {
    it('a note is there once it was written, also for others, and each change has a revision of its own', async () => {
      const base = freshCollection();
      const [admin, other] = [await adminOf(base), await adminOf(base)];
      expect(await admin.readNote(base)).toBeUndefined();
      expect(await admin.writeNote(base, { text: "it's é", list: [1, null] }, 0)).toBe(true);
      expect(await other.readNote(base)).toEqual({ value: { text: "it's é", list: [1, null] }, revision: 1 });
      for (let revision = 1; revision < 12; revision++) {
        expect(await admin.writeNote(base, { revision }, revision)).toBe(true);
      }
      expect(await other.readNote(base)).toEqual({ value: { revision: 11 }, revision: 12 });
    });

    it('of many that change a note at once one succeeds, and who knows an old revision changes nothing', async () => {
      const base = freshCollection();
      const admins = await Promise.all(Array.from({ length: 6 }, () => adminOf(base)));
      const first = await Promise.all(admins.map((admin, by) => admin.writeNote(base, { by }, 0)));
      expect(first.filter((won) => won)).toHaveLength(1);
      const second = await Promise.all(admins.map((admin, by) => admin.writeNote(base, { by }, 1)));
      expect(second.filter((won) => won)).toHaveLength(1);
      expect(await admins[0]?.writeNote(base, {}, 1)).toBe(false);
      expect(await admins[0]?.readNote(base)).toEqual({ value: { by: second.indexOf(true) }, revision: 2 });
    });

    it('changes of a changeover that collide all count', async () => {
      const base = freshCollection();
      const admins = await Promise.all(Array.from({ length: 3 }, () => adminOf(base)));
      const run = { from: 'store', fingerprint: 'f', startedAtMs: 1, phase: 'copying', startOffsets: {} } as const;
      const counts = { token: null, copied: 0, withoutText: 0, refused: 0 };
      await Promise.all(
        admins.map((admin, n) =>
          updateChangeover(admin, base, (now) => ({ ...now, runs: { ...now.runs, [`r${n}`]: { ...run, ...counts } } })),
        ),
      );
      const there = await readChangeover(admins[0]!, base);
      expect(Object.keys(there.runs).sort()).toEqual(['r0', 'r1', 'r2']);
    });

    it('readers follow the pointer of the name they know, and go back with it; workers do not', async () => {
      const [base, shadow] = [freshCollection(), freshCollection()];
      const [old, fresh] = [await sinkOf(base), await sinkOf(shadow)];
      await old.write([rowOf('old')]);
      await fresh.write([rowOf('new')]);
      const admin = await adminOf(base);
      const nameNow = async () => {
        const choice = await currentChoice(choiceOf(base), silentLog);
        return collectionNameOf(oneCollection(choice));
      };
      expect(await nameNow()).toBe(collectionNameOf(choiceOf(base)));
      const [baseName, shadowName] = [base, shadow].map((one) => collectionNameOf(choiceOf(one)));
      await updateChangeover(admin, base, (now) => ({ ...now, current: shadowName, previous: baseName }));
      expect(await nameNow()).toBe(shadowName);
      expect(await old.count()).toBe(1);
      await updateChangeover(admin, base, (now) => ({ ...now, current: baseName, previous: shadowName }));
      expect(await nameNow()).toBe(baseName);
    });

    it('what is dropped is gone with its deletions and its contract, and nothing else is', async () => {
      const [base, shadow] = [freshCollection(), freshCollection()];
      const kept = await sinkOf(base);
      await kept.write([rowOf('kept')]);
      const doomed = await createSink(choiceOf(shadow), silentLog, systemClock);
      await doomed.open(contractOf());
      await doomed.write([rowOf('a'), rowOf('b')]);
      await doomed.remove([deletionOf('chunk', 'b', 9n)]);
      await doomed.close();
      const admin = await adminOf(base);
      await admin.writeNote(base, { kept: true }, 0);
      const target = withCollection(choiceOf(base), collectionNameOf(choiceOf(shadow)));
      await admin.drop(collectionNameOf(target));
      await admin.drop(collectionNameOf(target));
      expect(await kept.count()).toBe(1);
      expect(await admin.readNote(base)).toMatchObject({ value: { kept: true } });
      const anew = await createSink(target, silentLog, systemClock);
      onTestFinished(() => anew.close());
      await anew.open(contractOf('FP32', { fingerprint: 'another' }));
      expect(await anew.count()).toBe(0);
      const vector = new Uint8Array(32);
      expect(await anew.write([rowOf('b', { offset: 1n, vector })])).toEqual([{ kind: 'stored' }]);
    });
  });
}
