import { create, fromBinary, toBinary } from '@bufbuild/protobuf';
import { describe, expect, it } from 'vitest';
import { isServingError } from '../../../src/errors.ts';
import { encodeAll } from '../../../src/kserve/bytes.ts';
import { ModelInferRequestSchema } from '../../../src/kserve/gen/grpc_service_pb.ts';
import { decodeInferRequest, encodeInferRequest } from '../../../src/kserve/infer-request.ts';
import type { InferRequest, InputTensor } from '../../../src/kserve/tensor.ts';

const texts = ['a', 'bc'];
const inline: InferRequest = {
  modelName: 'm',
  id: 'r1',
  inputs: [{ name: 'TEXT', datatype: 'BYTES', shape: [2, 1], data: { kind: 'inline', bytes: encodeAll(texts) } }],
  outputs: [{ name: 'EMBEDDING' }],
};
const region: InferRequest = {
  modelName: 'm',
  inputs: [
    {
      name: 'TEXT',
      datatype: 'BYTES',
      shape: [2, 1],
      data: { kind: 'region', range: { region: 'rag-1', offset: 64, byteSize: 11 } },
    },
  ],
  outputs: [{ name: 'EMBEDDING', region: { region: 'rag-1', offset: 4096, byteSize: 1536 } }],
};

const wire = (request: InferRequest) =>
  Buffer.from(toBinary(ModelInferRequestSchema, encodeInferRequest(request))).toString('hex');
const refused = (message: RegExp) =>
  expect.toSatisfy((error: unknown) => isServingError(error, 'ARGUMENT_INVALID') && message.test(error.message));

describe('infer request on the wire', () => {
  it('texts inside the message', () => {
    expect(wire(inline)).toBe(
      [
        '0a016d', // 1 model_name "m"
        '1a027231', // 3 id "r1"
        '2a110a045445585412054259544553' + '1a020201', // 5 inputs: name TEXT, datatype BYTES, shape [2,1]
        '320b0a09454d42454444494e47', // 6 outputs: name EMBEDDING
        '3a0b0100000061020000006263', // 7 raw_input_contents: the two elements
      ].join(''),
    );
  });

  it('texts in shared memory: three parameters a tensor and no raw contents', () => {
    const message = fromBinary(ModelInferRequestSchema, Buffer.from(wire(region), 'hex'));
    expect(message.rawInputContents).toEqual([]);
    const parameters = (entries: Record<string, { parameterChoice: { value?: unknown } }>) =>
      Object.fromEntries(Object.entries(entries).map(([key, { parameterChoice }]) => [key, parameterChoice.value]));
    expect(parameters(message.inputs[0]!.parameters)).toEqual({
      shared_memory_region: 'rag-1',
      shared_memory_byte_size: 11n,
      shared_memory_offset: 64n,
    });
    expect(parameters(message.outputs[0]!.parameters)).toEqual({
      shared_memory_region: 'rag-1',
      shared_memory_byte_size: 1536n,
      shared_memory_offset: 4096n,
    });
  });

  it('both kinds come back as they were sent', () => {
    for (const request of [inline, region]) {
      const message = fromBinary(ModelInferRequestSchema, Uint8Array.from(Buffer.from(wire(request), 'hex')));
      expect(decodeInferRequest(message)).toEqual(withPlainBytes(request));
    }
  });

  it('an inline tensor after one in shared memory keeps its own bytes', () => {
    const second: InputTensor = { ...inline.inputs[0]!, name: 'PASSAGE' };
    const mixed = { ...region, inputs: [region.inputs[0]!, second] };
    const back = decodeInferRequest(encodeInferRequest(mixed));
    expect(back.inputs[0]!.data.kind).toBe('region');
    expect(back.inputs[1]!.data).toEqual({ kind: 'inline', bytes: encodeAll(texts) });
  });
});

describe('infer request that does not fit its shape is refused before it is sent', () => {
  const tensor = inline.inputs[0]!;
  const cases: { name: string; input: InputTensor; message: RegExp }[] = [
    { name: 'fewer texts than rows', input: { ...tensor, shape: [3, 1] }, message: /holds 2 elements .* says 3/ },
    {
      name: 'wrong number of bytes',
      input: { name: 'X', datatype: 'FP32', shape: [2, 2], data: { kind: 'inline', bytes: new Uint8Array(12) } },
      message: /tensor X has 12 bytes where FP32 \[2,2\] needs 16/,
    },
    {
      name: 'region shorter than the length prefixes of its rows',
      input: { ...region.inputs[0]!, shape: [3, 1] },
      message: /tensor TEXT has 11 bytes where BYTES \[3,1\] needs at least 12/,
    },
    { name: 'a negative dimension', input: { ...tensor, shape: [-1, 1] }, message: /dimension -1/ },
    { name: 'half a row', input: { ...tensor, shape: [1.5] }, message: /dimension 1.5/ },
  ];
  for (const { name, input, message } of cases) {
    it(name, () => expect(() => encodeInferRequest({ ...inline, inputs: [input] })).toThrow(refused(message)));
  }
});

describe('reading a request as a server', () => {
  const input = { name: 'TEXT', datatype: 'BYTES', shape: [1n, 1n] };
  const read = (partial: Parameters<typeof create<typeof ModelInferRequestSchema>>[1]) =>
    decodeInferRequest(create(ModelInferRequestSchema, partial!));

  it('typed contents become raw bytes', () => {
    const request = read({ inputs: [{ ...input, contents: { bytesContents: [Buffer.from('a b')] } }] });
    expect(request.inputs[0]!.data).toEqual({ kind: 'inline', bytes: Uint8Array.from(encodeAll(['a b'])) });
  });

  it('raw contents for another number of inputs are refused', () => {
    const raw = [encodeAll(['a']), encodeAll(['b'])];
    expect(() => read({ inputs: [input], rawInputContents: raw })).toThrow(refused(/2 entries for 1 inputs/));
  });

  it('typed and raw at once is refused, so is neither', () => {
    const typed = { ...input, contents: { bytesContents: [Buffer.from('a')] } };
    expect(() => read({ inputs: [typed], rawInputContents: [encodeAll(['a'])] })).toThrow(refused(/raw and typed/));
    expect(() => read({ inputs: [input] })).toThrow(refused(/neither raw nor typed/));
  });

  it('an unknown datatype is refused', () => {
    const odd = { ...input, datatype: 'STRING' };
    expect(() => read({ inputs: [odd], rawInputContents: [encodeAll(['a'])] })).toThrow(refused(/unknown datatype/));
  });

  it('a region without its size, or of another type, is refused by the name of the parameter', () => {
    const name = { parameterChoice: { case: 'stringParam' as const, value: 'rag-1' } };
    const bad = { parameterChoice: { case: 'stringParam' as const, value: '12' } };
    const only = { ...input, parameters: { shared_memory_region: name } };
    const text = { ...input, parameters: { shared_memory_region: name, shared_memory_byte_size: bad } };
    expect(() => read({ inputs: [only] })).toThrow(refused(/shared_memory_byte_size is missing/));
    expect(() => read({ inputs: [text] })).toThrow(refused(/shared_memory_byte_size must be a whole number/));
  });
});

/** A Buffer and a Uint8Array of the same bytes are not equal to the test runner. */
function withPlainBytes(request: InferRequest): InferRequest {
  const inputs = request.inputs.map((input) =>
    input.data.kind === 'inline'
      ? { ...input, data: { ...input.data, bytes: Uint8Array.from(input.data.bytes) } }
      : input,
  );
  return { ...request, inputs };
}
