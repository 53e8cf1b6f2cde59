import { describe, expect, it } from 'vitest';
import { isServingError } from '../../../src/errors.ts';
import { tryOrder } from '../../../src/inference/endpoint-pool.ts';
import { parseTarget } from '../../../src/inference/target.ts';

describe('targets', () => {
  const good: { list: string; targets: string[]; balanced?: boolean }[] = [
    { list: 'localhost:8001', targets: ['dns:///localhost:8001'] },
    { list: ' 10.0.0.1:8001 ', targets: ['dns:///10.0.0.1:8001'] },
    { list: '[::1]:8001', targets: ['dns:///[::1]:8001'] },
    { list: '[fe80::1%eth0]:1', targets: ['dns:///[fe80::1%eth0]:1'] },
    {
      list: 'dns:///triton.rag.svc.cluster.local:8001',
      targets: ['dns:///triton.rag.svc.cluster.local:8001'],
      balanced: true,
    },
    { list: 'unix:/run/triton.sock', targets: ['unix:/run/triton.sock'] },
    { list: 'a:1, b:2,[::1]:3', targets: ['dns:///a:1', 'dns:///b:2', 'dns:///[::1]:3'] },
  ];
  for (const { list, targets, balanced = false } of good) {
    it(`takes ${list}`, () => {
      const endpoints = parseTarget(list, 'X');
      expect(endpoints.map(({ target }) => target)).toEqual(targets);
      expect(endpoints.every((endpoint) => endpoint.balanced === balanced)).toBe(true);
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
    { list: 'dns://8.8.8.8/name:1', message: /three slashes/ },
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

describe('order of endpoints', () => {
  const cases: { name: string; turn: number; away: number[]; order: number[] }[] = [
    { name: 'first turn', turn: 0, away: [], order: [0, 1, 2] },
    { name: 'next turn starts at the next', turn: 1, away: [], order: [1, 2, 0] },
    { name: 'one that is away comes last', turn: 1, away: [1], order: [2, 0, 1] },
    { name: 'all away: all are tried', turn: 2, away: [0, 1, 2], order: [2, 0, 1] },
  ];
  for (const { name, turn, away, order } of cases) {
    it(name, () => expect(tryOrder(3, turn, (index) => !away.includes(index))).toEqual(order));
  }
});
