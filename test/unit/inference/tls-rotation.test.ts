/** TLS files that are rotated while calls go on, as Kubernetes does it, against a server that asks for certificates (F05). */
import { rmSync } from 'node:fs';
import { ServerCredentials } from '@grpc/grpc-js';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import type { InferenceClient } from '../../../src/inference/client.ts';
import type { PoolEvent } from '../../../src/inference/endpoint-pool.ts';
import { createGrpcInferenceClient } from '../../../src/inference/grpc-client.ts';
import { TlsFiles } from '../../../src/inference/tls-files.ts';
import { Authority, MountedSecret, type Pair } from '../../support/certificates.ts';
import { startFakeServer } from './fake-server.ts';

const settings = { caPath: 'THE_CA', certPath: 'THE_CERT', keyPath: 'THE_KEY' };
const LOOK_EVERY_MS = 50;
const soon = { timeoutMs: 5_000 };

let ca: Authority;
let stranger: Authority;
let serverPair: Pair;
let first: Pair;
let second: Pair;
beforeAll(() => {
  ca = new Authority();
  stranger = new Authority('stranger.test');
  serverPair = ca.issue('server.test', 'IP:127.0.0.1');
  first = ca.issue('first.test');
  second = ca.issue('second.test');
});
afterAll(() => {
  ca.remove();
  stranger.remove();
});

const ends: (() => unknown)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end();
});

function credentialsOf({ cert, key }: Pair): ServerCredentials {
  const pair = { private_key: Buffer.from(key), cert_chain: Buffer.from(cert) };
  return ServerCredentials.createSsl(Buffer.from(ca.cert), [pair], true);
}

/** A server that tells who calls, a secret with the first pair, and a client that uses it. */
async function setUp() {
  const callers: (string | undefined)[] = [];
  let held: Promise<void> | undefined;
  const serverLive = async (_: unknown, { client }: { readonly client: string | undefined }) => {
    callers.push(client);
    await held;
    return { live: true };
  };
  const server = await startFakeServer({ serverLive }, { credentials: credentialsOf(serverPair) });
  const mounted = new MountedSecret({ 'ca.crt': ca.cert, 'tls.crt': first.cert, 'tls.key': first.key });
  const told: string[] = [];
  const tls = new TlsFiles({
    paths: { caPath: mounted.path('ca.crt'), certPath: mounted.path('tls.crt'), keyPath: mounted.path('tls.key') },
    serverName: undefined,
    settings,
    everyMs: LOOK_EVERY_MS,
    events: {
      onRotated: () => told.push('rotated'),
      onProblems: (problems) => told.push(...problems),
    },
  });
  const client = createGrpcInferenceClient({
    target: server.target,
    targetSetting: 'X',
    receiveLimitBytes: 1 << 20,
    connectionsPerEndpoint: 2,
    tls,
    onEvent: (event: PoolEvent) => told.push(event.kind),
  });
  ends.push(
    () => server.stop(),
    () => mounted.remove(),
    () => client.close(),
  );
  const hold = () => {
    let release = () => {};
    held = new Promise<void>((resolve) => {
      release = resolve;
    });
    return () => {
      held = undefined;
      release();
    };
  };
  return { client, mounted, told, callers, hold };
}

const pairFiles = (pair: Pair, authority = ca.cert) => ({
  'ca.crt': authority,
  'tls.crt': pair.cert,
  'tls.key': pair.key,
});

async function askOften(client: InferenceClient, until: () => boolean): Promise<void> {
  const isDone = async () => {
    expect(await client.serverLive(soon)).toBe(true);
    return until();
  };
  await expect.poll(isDone, { timeout: 10_000, interval: 5 }).toBe(true);
}

describe('files that are rotated', () => {
  it('new connections come with the new certificate, no call fails, and what is under way is answered', async () => {
    const { client, mounted, told, callers, hold } = await setUp();
    await client.serverLive(soon);
    expect(callers).toEqual(['first.test']);
    const release = hold();
    const underWay = client.serverLive({ timeoutMs: 20_000 });
    await expect.poll(() => callers).toHaveLength(2);
    mounted.swap(pairFiles(second));
    await expect.poll(() => told, { timeout: 5_000 }).toEqual(['rotated']);
    release();
    await askOften(client, () => callers.at(-1) === 'second.test' && callers.at(-2) === 'second.test');
    expect(await underWay).toBe(true);
    const seen = callers.length;
    for (let i = 0; i < 10; i++) await client.serverLive(soon);
    expect(new Set(callers.slice(seen))).toEqual(new Set(['second.test']));
  });

  it('files that are no good are told once, each with setting, fault and file; the connections stay', async () => {
    const { client, mounted, told, callers } = await setUp();
    const file = (name: string) => `(${mounted.path(name)})`;
    await client.serverLive(soon);
    mounted.swap({ ...pairFiles(second), 'tls.key': first.key });
    const mismatch = `THE_KEY holds the key of another certificate; set the key that the certificate was made for ${file('tls.key')}`;
    await expect.poll(() => told, { timeout: 5_000 }).toEqual([mismatch]);
    await askOften(client, () => callers.length > 30);
    expect(told).toEqual([mismatch]);
    mounted.swap({ ...pairFiles(second), 'tls.crt': ca.issue('late.test', 'DNS:late.test', -1).cert, 'ca.crt': '' });
    await expect.poll(() => told.length, { timeout: 5_000 }).toBe(3);
    expect(told[1]).toBe(`THE_CA names an empty file; set a PEM file ${file('ca.crt')}`);
    expect(told[2]).toMatch(/^THE_CERT names a certificate that expired .+; renew it \(/);
    rmSync(mounted.path('tls.crt'));
    mounted.swap({ ...pairFiles(second) });
    const missing = `THE_CERT names a file that does not exist; set a readable PEM file ${file('tls.crt')}`;
    await expect.poll(() => told.at(-1), { timeout: 5_000 }).toBe(missing);
    await askOften(client, () => true);
    expect(new Set(callers)).toEqual(new Set(['first.test']));
  });

  it('a certificate that the server does not take: the old connection is kept and it is told', async () => {
    const { client, mounted, told, callers } = await setUp();
    await client.serverLive(soon);
    mounted.swap(pairFiles(stranger.issue('stranger.test')));
    await expect.poll(() => told, { timeout: 5_000 }).toEqual(['rotated', 'renewal-refused']);
    await askOften(client, () => callers.length > 10);
    mounted.swap(pairFiles(second));
    await askOften(client, () => callers.at(-1) === 'second.test');
    expect(told).toEqual(['rotated', 'renewal-refused', 'rotated']);
  });

  it('a closed client looks at no file any more', async () => {
    const { client, mounted, told } = await setUp();
    await client.serverLive(soon);
    client.close();
    mounted.swap(pairFiles(second));
    await new Promise((resolve) => setTimeout(resolve, 10 * LOOK_EVERY_MS));
    expect(told).toEqual([]);
  });
});

describe('the certificate of the server', () => {
  const ask = async (pair: Pair, authority = ca.cert, host = '127.0.0.1') => {
    const credentials = ServerCredentials.createSsl(null, [
      { private_key: Buffer.from(pair.key), cert_chain: Buffer.from(pair.cert) },
    ]);
    const server = await startFakeServer({ serverLive: () => ({ live: true }) }, { credentials, host });
    const tls = { ca: authority, cert: undefined, key: undefined, serverName: undefined };
    const client = createGrpcInferenceClient({ ...server, targetSetting: 'X', receiveLimitBytes: 1 << 20, tls });
    ends.push(
      () => server.stop(),
      () => client.close(),
    );
    return { target: server.target, end: await client.serverLive(soon).catch((error: Error) => error) };
  };

  it.each([
    ['has expired', () => ca.issue('old.test', 'IP:127.0.0.1', -1), 'has expired, renew it there'],
    ['is for another name', () => ca.issue('elsewhere.test'), 'is for another name, check the address'],
    ['is of another authority', () => stranger.issue('x.test', 'IP:127.0.0.1'), 'is of an authority that is not among'],
  ])('%s: an outage that names the server and what to do', async (_, pair, says) => {
    const { target, end } = await ask(pair());
    expect(end).toMatchObject({
      code: 'INFERENCE_UNAVAILABLE',
      message: expect.stringContaining(`ServerLive at ${target}: TLS to the server failed: its certificate ${says}`),
    });
  });
});
