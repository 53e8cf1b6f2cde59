/** TLS from `createOnline` to the server: both sides show certificates, calls carry an API key, files are rotated (F05). */
import { setTimeout as sleep } from 'node:timers/promises';
import { inspect } from 'node:util';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { createOnline, type Log, type Online, type TlsOptions } from '../../../online/index.ts';
import { Authority, MountedSecret, type Pair } from '../../support/certificates.ts';
import { startDnsServer } from '../../support/dns-server.ts';
import { startTlsGateway, type TlsGateway } from '../../support/tls-gateway.ts';
import { type RunningEngine, runEngine } from '../engine/engine-fixture.ts';
import { transports } from '../infer-transport.ts';
import { candidatesOf, patient } from '../online-contract.ts';

const KEY = 'key-of-the-caller';
const HOST = 'models.test';

let engine: RunningEngine;
let ca: Authority;
let gateway: TlsGateway;
let first: Pair;
let second: Pair;
beforeAll(async () => {
  engine = await runEngine();
  ca = new Authority();
  first = ca.issue('first.test');
  second = ca.issue('second.test');
  gateway = await startTlsGateway({
    target: `127.0.0.1:${engine.engine.ports.grpcPort}`,
    pair: ca.issue(HOST),
    clientAuthority: ca.cert,
    apiKey: KEY,
  });
});
afterAll(async () => {
  gateway.close();
  await engine.stop();
  ca.remove();
});

const ends: (() => unknown)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end();
});

function mount(pair: Pair): { readonly secret: MountedSecret; readonly tls: TlsOptions } {
  const secret = new MountedSecret({ ca: ca.cert, cert: pair.cert, key: pair.key });
  ends.push(() => secret.remove());
  return { secret, tls: { caPath: secret.path('ca'), certPath: secret.path('cert'), keyPath: secret.path('key') } };
}

type Choice = {
  readonly tls: TlsOptions;
  readonly endpoints?: string;
  readonly transport?: 'stream' | 'unary';
  readonly metadata?: Readonly<Record<string, string>>;
};

async function connect({ tls, transport = 'stream', metadata = { 'x-api-key': KEY }, ...rest }: Choice) {
  const pool = { endpoints: rest.endpoints ?? `127.0.0.1:${gateway.port}`, transport };
  const told: string[] = [];
  const note = (message: string, fields?: unknown) => void told.push(`${message} ${JSON.stringify(fields)}`);
  const log: Log = { debug: note, info: note, warn: note, error: note, child: () => log };
  const options = { embed: pool, rerank: pool, warmUpTimeoutMs: 3_000, tls, metadata };
  const online = await createOnline(options, { log });
  ends.push(() => online.close());
  return { online, told };
}

const named = (tls: TlsOptions) => ({ ...tls, serverNameOverride: HOST });

async function works(online: Online): Promise<void> {
  expect(online.health().status).toBe('ready');
  expect((await online.embed('q', patient)).vectors).toHaveLength(1);
  expect((await online.rerank('q', candidatesOf(['a']), patient)).source).toBe('cross-encoder');
}

describe.each(transports)('TLS, %s', (transport) => {
  it('with a client certificate, the server known by an override and a key in the metadata', async () => {
    const { online } = await connect({ ...mount(first), tls: named(mount(first).tls), transport });
    await works(online);
    expect(new Set(gateway.open)).toEqual(new Set(['first.test']));
  });

  it('files that are rotated: connections come with the new certificate and no call fails', async () => {
    const { secret, tls } = mount(first);
    const { online, told } = await connect({ tls: named(tls), transport });
    await works(online);
    const before = gateway.connected.length;
    secret.swap({ ca: ca.cert, cert: second.cert, key: second.key });
    const renewed = async () => {
      await Promise.all([online.embed('q', patient), online.rerank('q', candidatesOf(['a']), patient)]);
      return [...gateway.open].sort().join();
    };
    // Two pools with two connections each; the old ones have ended.
    await expect.poll(renewed, { timeout: 20_000, interval: 20 }).toBe(Array(4).fill('second.test').join());
    expect(gateway.connected.slice(before)).toHaveLength(4);
    const { embed, rerank } = online.stats();
    expect([embed.failed, rerank.failed, rerank.degraded]).toEqual([{}, {}, 0]);
    expect(told.filter((line) => line.startsWith('TLS files were rotated'))).toHaveLength(1);
  });
});

it('an address of a name is known by the name: its certificate needs no override', async () => {
  const dns = await startDnsServer(['127.0.0.1']);
  ends.push(() => dns.close());
  const endpoints = `dns://${dns.address}/${HOST}:${gateway.port}`;
  const { online } = await connect({ tls: mount(first).tls, endpoints });
  await works(online);
  expect(Object.keys(online.health().embed.breakers)).toEqual([`127.0.0.1:${gateway.port}`]);
});

it('bad files are told once, with option, fault and file, and change nothing', async () => {
  const { secret, tls } = mount(first);
  const { online, told } = await connect({ tls: named(tls) });
  secret.swap({ ca: ca.cert, cert: second.cert, key: first.key });
  const faults = () => told.filter((line) => line.startsWith('TLS files are no good'));
  await expect.poll(faults, { timeout: 20_000 }).toHaveLength(1);
  await sleep(6_000);
  await works(online);
  expect(faults()).toEqual([
    `TLS files are no good, those before go on ${JSON.stringify({
      problems: [
        `tls.keyPath holds the key of another certificate; set the key that the certificate was made for (${secret.path('key')})`,
      ],
    })}`,
  ]);
  expect(faults().join()).not.toContain('BEGIN');
});

it('without the key there is no client, the error says why, and the key shows nowhere', async () => {
  const error = await connect({ tls: named(mount(first).tls), metadata: { 'x-api-key': 'wrong-key' } }).catch((e) => e);
  expect(gateway.refused).toBeGreaterThan(0);
  expect(error).toMatchObject({
    code: 'INFERENCE_ACCESS_DENIED',
    message: `ModelReady at 127.0.0.1:${gateway.port}: the server asks for other credentials (UNAUTHENTICATED)`,
  });
  expect(inspect(error, { depth: 10 })).not.toContain('wrong-key');
});

it('a server of another name is named, with what to check', async () => {
  const { online } = await connect({ tls: mount(first).tls });
  expect(online.health().embed.reason).toBe(
    `ModelReady at 127.0.0.1:${gateway.port}: TLS to the server failed: its certificate is for another name, check the address or the server name override (UNAVAILABLE)`,
  );
});

it('files that cannot work are an error of createOnline, with option, fault and file', async () => {
  const { secret, tls } = mount({ cert: ca.issue('late.test', 'DNS:late.test', -1).cert, key: first.key });
  const caPath = secret.path('gone');
  await expect(createOnline({ tls: { ...tls, caPath } })).rejects.toMatchObject({
    code: 'CONFIG_INVALID',
    details: {
      problems: [
        `tls.caPath names a file that does not exist; set a readable PEM file (${caPath})`,
        expect.stringMatching(/^tls\.certPath names a certificate that expired .+; renew it \(/),
      ],
    },
  });
});
