import { createServer, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import { ServingError } from '../../../src/errors.ts';
import type { ModelDescription } from '../../../src/kserve/model-description.ts';
import type { InferResponse } from '../../../src/kserve/tensor.ts';
import { ask, below } from '../../../src/ops/model-server/http.ts';
import { ModelServerProbe } from '../../../src/ops/model-server/probe.ts';
import { answerFault, probeRequest } from '../../../src/ops/model-server/probe-request.ts';
import { inferenceCheck, modelsCheck, serverCheck } from '../../../src/ops/model-server/verdicts.ts';

const servers: Server[] = [];
afterEach(() => {
  for (const server of servers.splice(0)) {
    server.closeAllConnections();
    server.close();
  }
});

async function serve(answer: (path: string, response: ServerResponse) => void): Promise<string> {
  const server = createServer((request, response) => answer(request.url ?? '', response));
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

function model(inputs: readonly string[], datatype = 'BYTES', output = 'EMBEDDING'): ModelDescription {
  return {
    name: 'm',
    versions: ['1'],
    platform: 'ensemble',
    inputs: inputs.map((name) => ({ name, datatype, shape: [-1, 1] })),
    outputs: [{ name: output, datatype: 'FP16', shape: [-1, 384] }],
    maxBatchSize: 32,
    parameters: {},
  };
}

function answerOf(bytes: Uint8Array, datatype: 'FP16' | 'FP32' = 'FP16'): InferResponse {
  const outputs = [
    { name: 'EMBEDDING', datatype, shape: [1, bytes.length / 2], data: { kind: 'inline', bytes } },
  ] as const;
  return { modelName: 'm', modelVersion: '1', id: '', outputs };
}

describe('probeRequest', () => {
  it('asks an embedder with one TEXT, a reranker with one QUERY and PASSAGE', () => {
    expect(probeRequest(model(['TEXT']))?.inputs.map(({ name, shape }) => ({ name, shape }))).toEqual([
      { name: 'TEXT', shape: [1, 1] },
    ]);
    expect(probeRequest(model(['PASSAGE', 'QUERY']))?.inputs.map(({ name }) => name)).toEqual(['PASSAGE', 'QUERY']);
  });
  it.each([[['INPUT_IDS', 'MASK']], [['TEXT', 'OTHER']], [['QUERY']], [[]]])(
    'cannot feed a model that takes %j',
    (inputs) => {
      expect(probeRequest(model(inputs))).toBeUndefined();
    },
  );
  it('cannot feed a TEXT that is no text', () => {
    expect(probeRequest(model(['TEXT'], 'INT32'))).toBeUndefined();
  });
});

describe('answerFault', () => {
  const fp16 = (bits: number) => new Uint8Array(Uint16Array.from({ length: 8 }, () => bits).buffer);
  it.each([
    ['sound', answerOf(fp16(0x3c00)), undefined],
    ['NaN', answerOf(fp16(0x7e00)), 'output EMBEDDING is not finite'],
    ['zeros', answerOf(fp16(0)), 'output EMBEDDING is all zeros'],
    ['empty', answerOf(new Uint8Array(0)), 'output EMBEDDING came back empty'],
    ['a score of zero', answerOf(new Uint8Array(4), 'FP32'), undefined],
    ['no output', { ...answerOf(fp16(1)), outputs: [] }, 'the answer has no output'],
  ])('%s', (_name, answer, fault) => {
    expect(answerFault(answer)).toBe(fault);
  });
});

describe('ask', () => {
  it('ends in time with a peer that never answers, or never ends its answer', async () => {
    const silent = await serve(() => {});
    const endless = await serve((_path, response) => void response.writeHead(200).write('x'));
    for (const url of [silent, endless]) {
      expect(await ask(url, 150)).toEqual({ kind: 'none', reason: 'no answer within 150 ms' });
    }
  });
  it('takes no endless answer', async () => {
    const url = await serve((_path, response) => response.end('x'.repeat(5_000_000)));
    expect(await ask(url, 10_000)).toMatchObject({ kind: 'none', reason: expect.stringContaining('longer than') });
  });
  it('is not sent elsewhere', async () => {
    const url = await serve((_path, response) => response.writeHead(302, { location: 'http://127.0.0.1:1/' }).end());
    expect(await ask(url, 10_000)).toMatchObject({ kind: 'none' });
  });
  it('does not quote an address with credentials (M09)', async () => {
    const url = await serve(() => {});
    const gone = servers.splice(0)[0]!;
    await new Promise((resolve) => gone.close(resolve));
    const answers = [await ask(url.replace('//', '//u:pw-SENTINEL@'), 10_000), await ask(url, 10_000)];
    expect(JSON.stringify(answers)).not.toContain('SENTINEL');
    expect(answers[1]).toEqual({ kind: 'none', reason: 'no answer (ECONNREFUSED)' });
  });
  it('asks below the path that is set', () => {
    expect(below('http://h:1', '/v2/x')).toBe('http://h:1/v2/x');
    expect(below('http://h:1/triton/', '/v2/x')).toBe('http://h:1/triton/v2/x');
  });
});

describe('ModelServerProbe (M05)', () => {
  const look = async (infer: () => Promise<InferResponse>, describeModel = async () => model(['TEXT'])) => {
    const httpUrl = await serve((_path, response) => response.end());
    const options = { models: ['m'], httpUrl, metricsUrl: undefined, timeoutMs: 500 };
    return new ModelServerProbe({ ...options, client: { infer, describeModel } }).look();
  };
  const sound = async () => answerOf(new Uint8Array([0, 0x3c, 0, 0x3c, 0, 0x3c]));

  it('every inference fails while all health routes say ready', async () => {
    const seen = await look(async () => {
      throw new ServingError('INFERENCE_FAILED', 'out of memory');
    });
    expect([serverCheck(seen).state, modelsCheck(seen).state]).toEqual(['pass', 'pass']);
    expect(inferenceCheck(seen)).toEqual({ state: 'fail', reason: 'm: INFERENCE_FAILED: out of memory' });
  });
  it('an inference that never ends fails in time', async () => {
    expect(inferenceCheck(await look(() => new Promise((_, reject) => setTimeout(reject, 2_000)))).state).toBe('fail');
  });
  it('a full queue is an answer: busy is not away', async () => {
    const seen = await look(async () => {
      throw new ServingError('INFERENCE_QUEUE_FULL', 'queue is full');
    });
    expect(inferenceCheck(seen).state).toBe('pass');
  });
  it('a model that cannot be fed is judged by its readiness alone, and the check says so', async () => {
    const seen = await look(sound, async () => model(['INPUT_IDS']));
    expect(inferenceCheck(seen).state).toBe('unknown');
    expect(modelsCheck(seen).state).toBe('pass');
  });
  it('asks anew what a model takes after it failed', async () => {
    const takes = [['TEXT'], ['QUERY', 'PASSAGE']];
    const asked: string[][] = [];
    const client = {
      describeModel: async () => model(takes.shift() ?? []),
      infer: async ({ inputs }: { inputs: readonly { name: string }[] }) => {
        asked.push(inputs.map(({ name }) => name));
        if (asked.length === 1) throw new ServingError('INFERENCE_REJECTED', 'unexpected input');
        return sound();
      },
    };
    const probe = new ModelServerProbe({
      client,
      models: ['m'],
      httpUrl: undefined,
      metricsUrl: undefined,
      timeoutMs: 500,
    });
    expect([inferenceCheck(await probe.look()).state, inferenceCheck(await probe.look()).state]).toEqual([
      'fail',
      'pass',
    ]);
    expect(asked).toEqual([['TEXT'], ['QUERY', 'PASSAGE']]);
  });
});
