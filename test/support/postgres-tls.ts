/** Puts TLS before a PostgreSQL that was built without: answers a client's request for it as a server does, then passes bytes on. */
import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { TLSSocket, type TlsOptions } from 'node:tls';

export type TlsBefore = { readonly port: number; stop(): Promise<void> };

/** The code of an SSLRequest, after its length. */
const SSL_REQUEST = 80_877_103;

export async function tlsBefore(port: number, tls: TlsOptions): Promise<TlsBefore> {
  const open = new Set<Socket>();
  const server = createServer((plain) => {
    open.add(plain);
    plain.on('error', () => undefined).once('close', () => open.delete(plain));
    plain.once('data', (request) => {
      if (request.length !== 8 || request.readUInt32BE(4) !== SSL_REQUEST) return void plain.destroy();
      plain.write('S');
      const secure = new TLSSocket(plain, { ...tls, isServer: true });
      const behind = connect({ port, host: '127.0.0.1' });
      secure.on('error', () => behind.destroy());
      behind.on('error', () => secure.destroy());
      secure.pipe(behind).pipe(secure);
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    port: (server.address() as AddressInfo).port,
    stop: async () => {
      for (const socket of open) socket.destroy();
      server.close();
      await once(server, 'close');
    },
  };
}
