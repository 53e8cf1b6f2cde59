import { describe, expect, it } from 'vitest';
import { isServingError } from '../../../src/errors.ts';
import { type BalancedName, parseTarget, serverAt } from '../../../src/inference/target.ts';

describe('targets', () => {
  const good: { list: string; targets: string[]; balanced?: BalancedName }[] = [
    { list: 'localhost:8001', targets: ['dns:///localhost:8001'] },
    { list: ' 10.0.0.1:8001 ', targets: ['dns:///10.0.0.1:8001'] },
    { list: '[::1]:8001', targets: ['dns:///[::1]:8001'] },
    { list: '[fe80::1%eth0]:1', targets: ['dns:///[fe80::1%eth0]:1'] },
    {
      list: 'dns:///triton.rag.svc.cluster.local:8001',
      targets: ['dns:///triton.rag.svc.cluster.local:8001'],
      balanced: { host: 'triton.rag.svc.cluster.local', port: 8001, nameServer: undefined },
    },
    {
      list: 'dns://10.0.0.10/name:8001',
      targets: ['dns:///name:8001'],
      balanced: { host: 'name', port: 8001, nameServer: '10.0.0.10' },
    },
    {
      list: 'dns://[::1]:5353/name:8001',
      targets: ['dns:///name:8001'],
      balanced: { host: 'name', port: 8001, nameServer: '[::1]:5353' },
    },
    { list: 'dns:///[::1]:1', targets: ['dns:///[::1]:1'], balanced: { host: '::1', port: 1, nameServer: undefined } },
    { list: 'unix:/run/triton.sock', targets: ['unix:/run/triton.sock'] },
    { list: 'a:1, b:2,[::1]:3', targets: ['dns:///a:1', 'dns:///b:2', 'dns:///[::1]:3'] },
  ];
  for (const { list, targets, balanced } of good) {
    it(`takes ${list}`, () => {
      const endpoints = parseTarget(list, 'X');
      expect(endpoints.map(({ target }) => target)).toEqual(targets);
      for (const endpoint of endpoints) expect(endpoint.balanced).toEqual(balanced);
    });
  }

  const bad: { list: string; message: RegExp }[] = [
    { list: '', message: /is empty: write host:port/ },
    { list: 'a:1,,b:2', message: /empty entry between commas/ },
    { list: 'a:1,a:1', message: /names a:1 twice/ },
    { list: '::1:8001', message: /IPv6 address without brackets \(::1:8001\): write \[address\]:port/ },
    { list: 'fe80::1', message: /without brackets/ },
    { list: '[::1]', message: /has no port/ },
    { list: 'localhost', message: /has no port/ },
    { list: 'localhost:', message: /has the port ""/ },
    { list: 'localhost:0', message: /has the port "0"/ },
    { list: 'localhost:65536', message: /has the port "65536"/ },
    { list: 'localhost:8001/v2', message: /has the port "8001\/v2"/ },
    { list: 'http://localhost:8001', message: /scheme http:\/\/: write host:port/ },
    { list: 'dns://name:1', message: /three slashes/ },
    { list: 'dns://resolver/name:1', message: /name server "resolver": write the IP address/ },
    { list: 'dns://1.2.3/name:1', message: /name server "1.2.3"/ },
    { list: 'dns:///a:1/v2', message: /has the port "1\/v2"/ },
    { list: 'dns:///::1:8001', message: /without brackets/ },
    { list: 'unix:relative.sock', message: /write unix:\/path/ },
    { list: 'user@host:8001', message: /has the host "user@host"/ },
    { list: 'my host:8001', message: /has the host "my host"/ },
  ];
  for (const { list, message } of bad) {
    it(`refuses "${list}" with the remedy`, () => {
      const read = () => parseTarget(list, 'RAG_SERVING_BATCH_INGEST_GRPC_URL');
      expect(read).toThrow(message);
      expect(read).toThrow(/^RAG_SERVING_BATCH_INGEST_GRPC_URL /);
      expect(read).toThrow(expect.toSatisfy((error: unknown) => isServingError(error, 'CONFIG_INVALID')));
    });
  }
});

describe('a server at an address of a name', () => {
  it('is called by the address and known by the name', () => {
    const name = { host: 'embed.rag', port: 8001, nameServer: undefined };
    expect(serverAt('10.0.0.3', name)).toEqual({
      name: '10.0.0.3:8001',
      target: 'ipv4:10.0.0.3:8001',
      knownAs: { host: 'embed.rag', port: 8001 },
    });
    expect(serverAt('fd00::3', name)).toMatchObject({ name: '[fd00::3]:8001', target: 'ipv6:[fd00::3]:8001' });
  });
});
