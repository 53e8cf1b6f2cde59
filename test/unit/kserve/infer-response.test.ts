import { create, toBinary } from '@bufbuild/protobuf';
import { describe, expect, it } from 'vitest';
import { isServingError } from '../../../src/errors.ts';
import { encodeAll } from '../../../src/kserve/bytes.ts';
import { ModelInferResponseSchema, ModelStreamInferResponseSchema } from '../../../src/kserve/gen/grpc_service_pb.ts';
import { readInferAnswer, readStreamAnswer } from '../../../src/kserve/infer-answer.ts';
import { decodeInferResponse, encodeInferResponse } from '../../../src/kserve/infer-response.ts';
import type { InferRequest, InferResponse } from '../../../src/kserve/tensor.ts';

type Answer = NonNullable<Parameters<typeof create<typeof ModelInferResponseSchema>>[1]>;

const request: InferRequest = {
  modelName: 'm',
  id: 'r1',
  inputs: [{ name: 'TEXT', datatype: 'BYTES', shape: [2, 1], data: { kind: 'inline', bytes: encodeAll(['a', 'b']) } }],
  outputs: [{ name: 'EMBEDDING' }],
};
const inRegion: InferRequest = {
  ...request,
  outputs: [{ name: 'EMBEDDING', region: { region: 'rag-1', offset: 4096, byteSize: 64 } }],
};
const embedding = { name: 'EMBEDDING', datatype: 'FP16', shape: [2n, 2n] };
const vectors = Uint8Array.from(Buffer.from('003c00000000003c', 'hex'));
const string = (value: string) => ({ parameterChoice: { case: 'stringParam' as const, value } });
const int64 = (value: bigint) => ({ parameterChoice: { case: 'int64Param' as const, value } });
const written = (region: string, byteSize: bigint) => ({
  ...embedding,
  parameters: { shared_memory_region: string(region), shared_memory_byte_size: int64(byteSize) },
});

const wireOf = (answer: Answer) => toBinary(ModelInferResponseSchema, create(ModelInferResponseSchema, answer));
const read = (answer: Answer, asked = request) => decodeInferResponse(readInferAnswer(wireOf(answer)), asked);
const refused = (message: RegExp) =>
  expect.toSatisfy(
    (error: unknown) => isServingError(error, 'INFERENCE_RESPONSE_INVALID') && message.test(error.message),
  );

describe('reading an answer', () => {
  it('raw contents are views of the message', () => {
    const wire = wireOf({ outputs: [embedding], rawOutputContents: [vectors] });
    const output = decodeInferResponse(readInferAnswer(wire), request).outputs[0]!;
    expect(output).toMatchObject({ name: 'EMBEDDING', datatype: 'FP16', shape: [2, 2] });
    const bytes = (output.data as { bytes: Uint8Array }).bytes;
    expect(Buffer.from(bytes).toString('hex')).toBe('003c00000000003c');
    expect(bytes.buffer).toBe(wire.buffer);
  });

  it('outputs are matched by name, whatever their order, and come as asked for', () => {
    const score = { name: 'SCORE', datatype: 'FP32', shape: [2n, 1n] };
    const scores = new Uint8Array(Float32Array.of(1, 2).buffer);
    const answer = { outputs: [score, embedding], rawOutputContents: [scores, vectors] };
    expect(read(answer).outputs.map(({ name, data }) => [name, data])).toEqual([
      ['EMBEDDING', { kind: 'inline', bytes: vectors }],
    ]);
    const both = { ...request, outputs: [{ name: 'EMBEDDING' }, { name: 'SCORE' }] };
    expect(read(answer, both).outputs.map(({ name }) => name)).toEqual(['EMBEDDING', 'SCORE']);
    expect(read(answer, { ...request, outputs: [] }).outputs.map(({ name }) => name)).toEqual(['SCORE', 'EMBEDDING']);
  });

  it('an output in shared memory, with an empty raw entry or with none', () => {
    for (const rawOutputContents of [[new Uint8Array(0)], []]) {
      const { outputs } = read({ outputs: [written('rag-1', 8n)], rawOutputContents }, inRegion);
      expect(outputs[0]!.data).toEqual({ kind: 'region', range: { region: 'rag-1', offset: 4096, byteSize: 8 } });
    }
  });

  it('an output in shared memory as Triton says it: an empty raw entry and no parameters', () => {
    for (const rawOutputContents of [[new Uint8Array(0)], []]) {
      const { outputs } = read({ outputs: [embedding], rawOutputContents }, inRegion);
      expect(outputs[0]!.data).toEqual({ kind: 'region', range: { region: 'rag-1', offset: 4096, byteSize: 8 } });
    }
  });

  it('raw contents without entries for outputs in shared memory go to the inline outputs', () => {
    const score = { name: 'SCORE', datatype: 'FP32', shape: [2n, 1n] };
    const scores = new Uint8Array(Float32Array.of(1, 2).buffer);
    const asked = { ...inRegion, outputs: [...inRegion.outputs, { name: 'SCORE' }] };
    const { outputs } = read({ outputs: [written('rag-1', 8n), score], rawOutputContents: [scores] }, asked);
    expect(outputs[1]!.data).toEqual({ kind: 'inline', bytes: scores });
  });

  it('an output that comes inline although a region was offered is taken', () => {
    const { outputs } = read({ outputs: [embedding], rawOutputContents: [vectors] }, inRegion);
    expect(outputs[0]!.data.kind).toBe('inline');
  });

  it('typed FP32 contents become little-endian bytes', () => {
    const typed = { ...embedding, datatype: 'FP32', contents: { fp32Contents: [1, 0, 0.5, -2] } };
    const { outputs } = read({ outputs: [typed] });
    const bytes = (outputs[0]!.data as { bytes: Uint8Array }).bytes;
    expect(Buffer.from(bytes).toString('hex')).toBe('0000803f000000000000003f000000c0');
  });
});

describe('an answer that cannot be trusted is refused', () => {
  const cases: { name: string; answer: Answer; asked?: InferRequest; message: RegExp }[] = [
    {
      name: 'output missing',
      answer: { outputs: [{ ...embedding, name: 'OTHER' }], rawOutputContents: [vectors] },
      message: /lacks output EMBEDDING; it holds: OTHER/,
    },
    { name: 'no output at all', answer: {}, message: /lacks output EMBEDDING; it holds: none/ },
    {
      name: 'one row fewer than texts (P05)',
      answer: { outputs: [{ ...embedding, shape: [1n, 2n] }], rawOutputContents: [vectors.subarray(0, 4)] },
      message: /has 1 rows in output EMBEDDING for 2 rows sent/,
    },
    {
      name: 'bytes cut short',
      answer: { outputs: [embedding], rawOutputContents: [vectors.subarray(0, 7)] },
      message: /tensor EMBEDDING has 7 bytes where FP16 \[2,2\] needs 8/,
    },
    {
      name: 'FP16 elements sent as four bytes each (T09)',
      answer: { outputs: [embedding], rawOutputContents: [new Uint8Array(16)] },
      message: /has 16 bytes where FP16 \[2,2\] needs 8/,
    },
    {
      name: 'typed FP16 contents (T09)',
      answer: { outputs: [{ ...embedding, contents: { intContents: [1, 2, 3, 4] } }] },
      message: /tensor EMBEDDING: FP16 has no typed contents/,
    },
    {
      name: 'too few typed elements',
      answer: { outputs: [{ ...embedding, datatype: 'FP32', contents: { fp32Contents: [1] } }] },
      message: /has 1 typed elements where FP32 \[2,2\] needs 4/,
    },
    { name: 'no contents', answer: { outputs: [embedding] }, message: /output EMBEDDING without contents/ },
    {
      name: 'raw contents for another number of outputs',
      answer: { outputs: [embedding], rawOutputContents: [vectors, vectors] },
      message: /holds 2 raw contents for 1 outputs/,
    },
    {
      name: 'the same output twice',
      answer: { outputs: [embedding, embedding], rawOutputContents: [vectors, vectors] },
      message: /holds output EMBEDDING twice/,
    },
    {
      name: 'unknown datatype',
      answer: { outputs: [{ ...embedding, datatype: 'FP8' }], rawOutputContents: [vectors] },
      message: /output EMBEDDING of an unknown datatype/,
    },
    {
      name: 'the answer to another request',
      answer: { id: 'r2', outputs: [embedding], rawOutputContents: [vectors] },
      message: /answers another request/,
    },
    {
      name: 'a region nobody asked for',
      answer: { outputs: [written('rag-1', 8n)] },
      message: /into a region although none was asked for/,
    },
    {
      name: 'another region',
      answer: { outputs: [written('rag-2', 8n)] },
      asked: inRegion,
      message: /another region or offset/,
    },
    {
      name: 'more bytes than the slot has',
      answer: { outputs: [{ ...written('rag-1', 80n), shape: [2n, 20n] }] },
      asked: inRegion,
      message: /has 80 bytes in output EMBEDDING, more than its 64/,
    },
    {
      name: 'a shape too large for the slot, from a server that tells no size',
      answer: { outputs: [{ ...embedding, shape: [2n, 20n] }], rawOutputContents: [new Uint8Array(0)] },
      asked: inRegion,
      message: /has 80 bytes in output EMBEDDING, more than its 64/,
    },
    {
      name: 'texts in a region without their size',
      answer: { outputs: [{ ...embedding, datatype: 'BYTES' }], rawOutputContents: [new Uint8Array(0)] },
      asked: inRegion,
      message: /does not say how many bytes output EMBEDDING has/,
    },
    {
      name: 'a written size that is not the shape',
      answer: { outputs: [written('rag-1', 6n)] },
      asked: inRegion,
      message: /has 6 bytes where FP16 \[2,2\] needs 8/,
    },
  ];
  for (const { name, answer, asked, message } of cases) {
    it(name, () => expect(() => read(answer, asked)).toThrow(refused(message)));
  }
});

describe('answering as a server', () => {
  it('what is written is read back, inline and in shared memory', () => {
    const response: InferResponse = {
      modelName: 'm',
      modelVersion: '1',
      id: 'r1',
      outputs: [
        {
          name: 'EMBEDDING',
          datatype: 'FP16',
          shape: [2, 2],
          data: { kind: 'region', range: { region: 'rag-1', offset: 4096, byteSize: 8 } },
        },
        { name: 'EXTRA', datatype: 'FP16', shape: [2, 2], data: { kind: 'inline', bytes: Uint8Array.from(vectors) } },
      ],
    };
    const wire = toBinary(ModelInferResponseSchema, encodeInferResponse(response));
    const asked = { ...inRegion, outputs: [...inRegion.outputs, { name: 'EXTRA' }] };
    expect(decodeInferResponse(readInferAnswer(wire), asked)).toEqual(response);
  });
});

describe('reading the bytes of an answer', () => {
  const answer = { id: '7', modelName: 'm', modelVersion: '3', outputs: [embedding], rawOutputContents: [vectors] };

  it('on a stream: an answer, or an error with the id of its request', () => {
    const wire = (init: { errorMessage?: string; inferResponse?: Answer }) =>
      readStreamAnswer(toBinary(ModelStreamInferResponseSchema, create(ModelStreamInferResponseSchema, init as never)));
    expect(wire({ inferResponse: answer })).toMatchObject({ error: '', answer: { id: '7', modelVersion: '3' } });
    expect(wire({ errorMessage: 'queue full', inferResponse: { id: '8' } })).toMatchObject({
      error: 'queue full',
      answer: { id: '8' },
    });
    expect(wire({ errorMessage: 'lost' })).toMatchObject({ error: 'lost', answer: { id: '', outputs: [] } });
    expect(wire({})).toMatchObject({ error: '', answer: { id: '' } });
  });

  it('fields of a later protocol are passed over, of every wire type', () => {
    const more = Buffer.from(
      'f806ac02' + 'f1060102030405060708' + 'f50601020304' + 'fa0602ffff' + 'fb060801fc06',
      'hex',
    );
    const wire = Uint8Array.from(Buffer.concat([more, wireOf(answer), more]));
    expect(readInferAnswer(wire)).toEqual(readInferAnswer(wireOf(answer)));
  });

  it('dimensions that are not packed, and negative ones', () => {
    const output = Buffer.from('0a01581202494e' + '1802' + '18ffffffffffffffffff01', 'hex');
    const [read] = readInferAnswer(Buffer.concat([Buffer.from([0x2a, output.length]), output])).outputs;
    expect(read).toMatchObject({ name: 'X', datatype: 'IN', shape: [2, -1] });
  });

  it('bytes that are no message are an invalid answer, not a crash', () => {
    const whole = wireOf(answer);
    for (let length = 1; length < whole.length; length++) {
      try {
        readInferAnswer(whole.subarray(0, length));
      } catch (error) {
        expect(error).toEqual(refused(/no message of the KServe protocol/));
      }
    }
    // The name of the output inside says more bytes than its message has.
    expect(() => readInferAnswer(Buffer.from('2a020a05' + '3203616263', 'hex'))).toThrow(refused(/no message/));
    expect(() => readInferAnswer(Buffer.from('0aff', 'hex'))).toThrow(refused(/no message/));
    expect(() => readStreamAnswer(Buffer.from('12ffffffff', 'hex'))).toThrow(refused(/no message/));
  });
});
