/** LanceDB on a real S3 server: the sink contract, two writers, and each way in which the store says no. */
import { readdirSync } from 'node:fs';
import { afterAll, beforeAll, expect, it, onTestFinished } from 'vitest';
import { type RunningS3, startS3 } from '../../scripts/stack/s3.ts';
import { systemClock } from '../../src/clock.ts';
import type { LanceDbSinkOptions } from '../../src/sinks/lancedb/options.ts';
import { createSink } from '../../src/sinks/registry.ts';
import type { Sink } from '../../src/sinks/sink.ts';
import { silentLog } from '../../src/telemetry/log.ts';
import { contractOf, rowOf } from './sink-rows.ts';

let s3: RunningS3;
beforeAll(async () => {
  s3 = await startS3({ bucket: 'vectors' });
}, 900_000);
afterAll(() => s3.stop());

async function create(options: Partial<LanceDbSinkOptions> = {}): Promise<Sink> {
  const { accessKeyId, secretAccessKey, url: endpoint, bucket } = s3;
  const objectStore = { accessKeyId, secretAccessKey, endpoint, region: 'us-east-1' };
  const all = { uri: `s3://${bucket}/db`, table: 'chunks', objectStore, ...options };
  const sink = await createSink({ name: 'lancedb', options: all }, silentLog, systemClock);
  onTestFinished(() => sink.close());
  return sink;
}

function batch(first: number, count = 64) {
  return Array.from({ length: count }, (_, n) => rowOf(`c${first + n}`, { offset: BigInt(first + n) }));
}

it('stores, replaces, compacts and finds again what another process wrote', async () => {
  const sink = await create({ table: 'kept', compactAfterCommits: 4, keepVersionsMs: 0 });
  await sink.open(contractOf());
  for (let n = 0; n < 8; n++) await sink.write([...batch(n * 64), rowOf('again', { offset: BigInt(n) })]);
  await sink.close();
  const versions = readdirSync(`${s3.objectsDir}/db/kept.lance/_versions`);
  expect(versions.length).toBeLessThan(12);
  const reader = await create({ table: 'kept' });
  expect(await reader.inspect()).toMatchObject({ rows: 513, fingerprint: 'fp-one' });
  expect((await reader.fetch(['again', 'c511'])).map(({ source }) => source.offset)).toEqual([7n, 511n]);
});

it('a second writer is refused instead of storing a chunk twice', async () => {
  const [one, two] = [await create({ table: 'shared' }), await create({ table: 'shared' })];
  await one.open(contractOf());
  await two.open(contractOf());
  await one.write(batch(0));
  await expect(two.write(batch(0))).rejects.toMatchObject({
    code: 'CONFIG_INVALID',
    message: expect.stringMatching(/takes one writer/),
  });
  expect(await one.count()).toBe(64);
});

const refusals: {
  readonly name: string;
  readonly options: () => Partial<LanceDbSinkOptions>;
  readonly code: string;
  readonly says: RegExp;
}[] = [
  {
    name: 'a bucket that is not there',
    options: () => ({ uri: 's3://nowhere/db' }),
    code: 'CONFIG_INVALID',
    says: /bucket of s3:\/\/nowhere\/db does not exist/,
  },
  {
    name: 'a wrong secret',
    options: () => ({
      objectStore: {
        accessKeyId: s3.accessKeyId,
        secretAccessKey: 'not-the-secret',
        endpoint: s3.url,
        region: 'us-east-1',
      },
    }),
    code: 'SINK_ACCESS_DENIED',
    says: /refuses the key or its rights \(SignatureDoesNotMatch\)/,
  },
  {
    name: 'an address where nobody listens',
    options: () => ({
      objectStore: {
        accessKeyId: 'a',
        secretAccessKey: 'not-the-secret',
        endpoint: 'http://127.0.0.1:9',
        region: 'us-east-1',
      },
    }),
    code: 'SINK_UNAVAILABLE',
    says: /does not answer \(AWS_ENDPOINT_URL/,
  },
];
for (const { name, options, code, says } of refusals) {
  it(`${name} is a typed error without a word of the key`, async () => {
    const sink = await create(options());
    const error = await sink.open(contractOf()).then(
      () => undefined,
      (thrown: Error) => thrown,
    );
    expect(error).toMatchObject({ code, message: expect.stringMatching(says) });
    const all = JSON.stringify([
      error?.message,
      error?.cause ?? null,
      (error as { details?: unknown }).details,
      error?.stack,
    ]);
    expect(all).not.toMatch(/not-the-secret|local-stack|AWSAccessKeyId|CanonicalRequest/);
  });
}

it('an address of no store, and one with a key in it, are refused before anything is opened', async () => {
  for (const uri of ['foo://bucket/db', 's3://bucket', 's3://key:secret@bucket/db']) {
    await expect(create({ uri })).rejects.toMatchObject({
      code: 'CONFIG_INVALID',
      message: expect.not.stringMatching(/secret@/),
    });
  }
});

it('a store that goes away is an outage, and the write is taken when it is back', async () => {
  const sink = await create({ table: 'away' });
  await sink.open(contractOf());
  await sink.write(batch(0));
  await s3.kill('SIGKILL');
  await expect(sink.write(batch(64))).rejects.toMatchObject({ code: 'SINK_UNAVAILABLE', failureClass: 'outage' });
  await s3.restart();
  await expect
    .poll(
      () =>
        sink.write(batch(64)).then(
          ({ length }) => length,
          () => 0,
        ),
      { timeout: 60_000, interval: 1_000 },
    )
    .toBe(64);
  expect(await sink.count()).toBe(128);
}, 120_000);
