import { describe, expect, it } from 'vitest';
import { ServingError } from '../../../src/errors.ts';
import type { VectorContract } from '../../../src/kserve/contract.ts';
import type { CollectionDescription } from '../../../src/sinks/sink.ts';
import { brokersVerdict } from '../../../workers/doctor/checks/brokers.ts';
import { certificatesVerdict } from '../../../workers/doctor/checks/certificates.ts';
import { modelVerdict } from '../../../workers/doctor/checks/engine.ts';
import { groupVerdict } from '../../../workers/doctor/checks/group.ts';
import { memoryVerdict, nodeVerdict, openFilesVerdict } from '../../../workers/doctor/checks/machine.ts';
import { clockVerdict, setupVerdict } from '../../../workers/doctor/checks/retries.ts';
import { settingsVerdict } from '../../../workers/doctor/checks/settings.ts';
import { refusalVerdict, spaceVerdict } from '../../../workers/doctor/checks/shared-memory.ts';
import { collectionVerdict, diskVerdict } from '../../../workers/doctor/checks/store.ts';
import { absentLettersVerdict } from '../../../workers/doctor/checks/topic.ts';
import { remedyOf } from '../../../workers/doctor/remedies.ts';

const MIB = 2 ** 20;
const DAY_MS = 86_400_000;
const contract: VectorContract = { modelName: 'm', fingerprint: 'f1', dims: 4, dtype: 'FP16', maxBatch: 256 };
const collection: CollectionDescription = {
  collection: 'table "t"',
  setting: 'RAG_SERVING_LANCEDB_TABLE',
  fingerprint: 'f1',
  dims: 4,
  dtype: 'FP16',
  rows: 3,
  index: undefined,
};

describe('verdicts on the machine and its settings', () => {
  it('Node from 20.19 on, by number and not by letter', () => {
    const kinds = ['20.18.9', '20.19.0', '22.3.1', '9.99.0', '18.20.4'].map((version) => nodeVerdict(version).kind);
    expect(kinds).toEqual(['fail', 'ok', 'ok', 'fail', 'fail']);
  });

  it('open files by the soft limit', () => {
    const line = (soft: string) =>
      `Limit\nMax open files            ${soft}                 1048576              files\n`;
    const kinds = ['64', '512', '1024', 'unlimited'].map((soft) => openFilesVerdict(line(soft)).kind);
    expect(kinds).toEqual(['fail', 'warn', 'ok', 'ok']);
    expect(openFilesVerdict(undefined).kind).toBe('skipped');
  });

  it('memory with room to spare, little room, and none', () => {
    expect([2_000, 1_100, 900].map((limit) => memoryVerdict(1_000 * MIB, limit * MIB).kind)).toEqual([
      'ok',
      'warn',
      'fail',
    ]);
  });

  it('certificates that run out within thirty days, each by its file', () => {
    const now = Date.parse('2026-01-01T00:00:00Z');
    const later = { path: '/ca.pem', untilMs: now + 400 * DAY_MS };
    const soon = { path: '/client.pem', untilMs: now + 29 * DAY_MS };
    expect(certificatesVerdict([later], now).kind).toBe('ok');
    const found = certificatesVerdict([later, soon], now);
    expect(found).toMatchObject({ kind: 'warn', found: '/client.pem until 2026-01-30 (29 days)' });
    expect(certificatesVerdict([], now).kind).toBe('skipped');
  });

  it('each unknown name', () => {
    expect(settingsVerdict(['A is no setting', 'B is no setting'])).toMatchObject({
      kind: 'warn',
      found: 'A is no setting\nB is no setting',
    });
    expect(settingsVerdict([]).kind).toBe('ok');
  });
});

describe('verdicts on Kafka', () => {
  const away = new ServingError('KAFKA_UNAVAILABLE', 'cannot ask the broker who it is: ECONNREFUSED');

  it('one dead address among several is a warning, all dead a failure', () => {
    const [a, b] = [
      { server: 'a:9092', error: undefined },
      { server: 'b:9092', error: away },
    ];
    expect(brokersVerdict([a]).kind).toBe('ok');
    expect(brokersVerdict([a, b])).toMatchObject({ kind: 'warn', found: expect.stringContaining('a:9092 answers') });
    expect(brokersVerdict([b]).kind).toBe('fail');
  });

  it('members without a partition', () => {
    const facts = { group: 'g', state: 'Stable', committed: true, partitions: 3, lag: 7n };
    expect(groupVerdict({ ...facts, members: 3 }).kind).toBe('ok');
    expect(groupVerdict({ ...facts, members: 5 })).toMatchObject({
      kind: 'warn',
      found: expect.stringContaining('2 members of 5 have no partition'),
    });
  });

  it('no topic of dead letters: fine where everybody may make it', () => {
    expect([false, true].map((named) => absentLettersVerdict('t.dlq', named).kind)).toEqual(['ok', 'warn']);
  });

  it('TLS and SASL trouble has a remedy of its own', () => {
    const remedy = (message: string) => remedyOf({ code: 'KAFKA_UNAVAILABLE', message });
    expect(remedy('self-signed certificate in certificate chain')).toContain('CA file');
    expect(remedy('SELF_SIGNED_CERT_IN_CHAIN')).toContain('CA file');
    expect(remedy('CERT_HAS_EXPIRED')).toContain('renew');
    expect(remedy('ERR_TLS_CERT_ALTNAME_INVALID')).toContain('another name');
    expect(remedy('getaddrinfo ENOTFOUND kafka')).toContain('DNS');
    expect(remedy('ECONNREFUSED')).toContain('start the broker');
  });
});

describe('verdicts on model, memory and store', () => {
  it('endpoints that serve different models, and a model that takes fewer texts', () => {
    const first = { target: 'a', contract };
    expect(modelVerdict([first], 256).kind).toBe('ok');
    expect(modelVerdict([first], 512)).toMatchObject({ kind: 'warn', remedy: expect.stringContaining('512') });
    const other = { target: 'b', contract: { ...contract, fingerprint: 'f2' } };
    expect(modelVerdict([first, other], 256)).toMatchObject({ kind: 'fail', found: expect.stringContaining('f2') });
  });

  it('a mount that is too small says by how much; one without a limit is enough', () => {
    expect(spaceVerdict('/dev/shm', 100, { freeBytes: 60, totalBytes: 64 })).toMatchObject({
      kind: 'fail',
      remedy: expect.stringContaining('by 40 B'),
    });
    expect(spaceVerdict('/dev/shm', 100, { freeBytes: 0, totalBytes: 0 }).kind).toBe('ok');
    expect(spaceVerdict('/dev/shm', 60, { freeBytes: 60, totalBytes: 64 }).kind).toBe('ok');
  });

  it('a server without our shared memory fails only where it is required, and each reason has its remedy', () => {
    expect(refusalVerdict('unsupported', 'auto')).toMatchObject({
      kind: 'warn',
      remedy: expect.stringContaining('--allow-client-shm'),
    });
    expect(refusalVerdict('not-shared', 'required')).toMatchObject({
      kind: 'fail',
      remedy: expect.stringContaining('same tmpfs'),
    });
  });

  it('a collection of another model: refused, or a warning where mixing is allowed', () => {
    expect(collectionVerdict([], contract, false).kind).toBe('skipped');
    expect(collectionVerdict([collection], contract, false).kind).toBe('ok');
    const other = { ...collection, fingerprint: 'f0' };
    expect(collectionVerdict([collection, other], contract, false)).toMatchObject({
      kind: 'fail',
      found: expect.stringContaining('SINK_SCHEMA_MISMATCH'),
    });
    expect(collectionVerdict([other], contract, true).kind).toBe('warn');
    expect(collectionVerdict([{ ...other, dims: 8 }], contract, true).kind).toBe('fail');
  });

  it('disk by what is free', () => {
    expect([10, 500, 5_000].map((free) => diskVerdict('/data', free * MIB).kind)).toEqual(['fail', 'warn', 'ok']);
  });
});

describe('verdicts on the Redis of retries', () => {
  it('eviction fails, forgetting warns, silence about it warns', () => {
    const setup = { maxmemoryPolicy: 'noeviction', appendonly: 'yes', save: '' };
    expect(setupVerdict(setup).kind).toBe('ok');
    expect(setupVerdict({ ...setup, appendonly: 'no', save: '60 1' }).kind).toBe('ok');
    expect(setupVerdict({ ...setup, appendonly: 'no' }).kind).toBe('warn');
    expect(setupVerdict({ ...setup, maxmemoryPolicy: 'volatile-lru' }).kind).toBe('fail');
    expect(setupVerdict({ ...setup, maxmemoryPolicy: undefined }).kind).toBe('warn');
  });

  it('clocks that differ, either way', () => {
    const skew = (ms: number) => clockVerdict({ oursMs: 1_000_000 + ms, theirsMs: 1_000_000 });
    expect([0, 1_999, -2_001, 5_000, -61_000].map((ms) => skew(ms).kind)).toEqual(['ok', 'ok', 'warn', 'warn', 'fail']);
    expect(skew(-5_000)).toMatchObject({ found: 'this machine is 5000 ms behind Redis' });
    expect(clockVerdict(undefined).kind).toBe('skipped');
  });
});
