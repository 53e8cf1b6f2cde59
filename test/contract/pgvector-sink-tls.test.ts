/** Whom the pgvector sink trusts over TLS, with a real PostgreSQL behind an end of TLS of ours: the packaged one has none. */
import { afterAll, beforeAll, expect, it } from 'vitest';
import { Authority } from '../support/certificates.ts';
import { type TlsBefore, tlsBefore } from '../support/postgres-tls.ts';
import { usePostgres } from '../support/stack.ts';
import { createPgVectorSink, openPgVectorSink } from './pgvector-sink-client.ts';
import { contractOf, rowOf } from './sink-rows.ts';

const authority = new Authority();
const other = new Authority('other.test');
const postgres = usePostgres();
let anyone: TlsBefore;
let known: TlsBefore;

beforeAll(async () => {
  const server = authority.issue('localhost', 'DNS:localhost');
  anyone = await tlsBefore(postgres().port, server);
  const clients = { ca: authority.cert, requestCert: true, rejectUnauthorized: true };
  known = await tlsBefore(postgres().port, { ...server, ...clients });
});
afterAll(async () => {
  await Promise.all([anyone?.stop(), known?.stop()]);
  for (const one of [authority, other]) one.remove();
});

function urlOf({ port }: TlsBefore, host: string, sslmode: string): string {
  return `postgres://postgres@${host}:${port}/postgres?sslmode=${sslmode}`;
}

it('verify-full takes a certificate of the authority for this name', async () => {
  const sink = await openPgVectorSink({ url: urlOf(anyone, 'localhost', 'verify-full'), tlsCa: authority.cert });
  expect(await sink.write([rowOf('a')])).toEqual([{ kind: 'stored' }]);
});

it.each([
  ['verify-full', 'localhost', 'of another authority', (): string | undefined => other.cert],
  ['verify-full', 'localhost', 'of an authority that Node does not know', (): string | undefined => undefined],
  ['verify-full', '127.0.0.1', 'for another name', (): string | undefined => authority.cert],
  ['verify-ca', '127.0.0.1', 'of another authority', (): string | undefined => other.cert],
] as const)('%s to %s refuses a certificate %s', async (sslmode, host, _, ca) => {
  const tlsCa = ca();
  const sink = await createPgVectorSink({ url: urlOf(anyone, host, sslmode), ...(tlsCa !== undefined && { tlsCa }) });
  await expect(sink.open(contractOf())).rejects.toMatchObject({
    code: 'SINK_UNAVAILABLE',
    message: expect.stringMatching(/CERT|LEAF|ALTNAME/),
  });
});

it('verify-ca looks at no name, and require at nothing', async () => {
  await openPgVectorSink({ url: urlOf(anyone, '127.0.0.1', 'verify-ca'), tlsCa: authority.cert });
  await openPgVectorSink({ url: urlOf(anyone, '127.0.0.1', 'require') });
});

it('a certificate of the client is shown', async () => {
  const client = authority.issue('rag-client');
  const options = { url: urlOf(known, 'localhost', 'verify-full'), tlsCa: authority.cert };
  await openPgVectorSink({ ...options, tlsCert: client.cert, tlsKey: client.key });
  const without = await createPgVectorSink(options);
  await expect(without.open(contractOf())).rejects.toMatchObject({ code: 'SINK_UNAVAILABLE' });
});

it('a server without TLS is an outage, not a connection in the clear', async () => {
  const sink = await createPgVectorSink({ url: `${postgres().url}?sslmode=require` });
  await expect(sink.open(contractOf())).rejects.toMatchObject({ code: 'SINK_UNAVAILABLE' });
});
