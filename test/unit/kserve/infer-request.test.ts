import { create, fromBinary } from '@bufbuild/protobuf';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { isServingError } from '../../../src/errors.ts';
import { encodeAll } from '../../../src/kserve/bytes.ts';
import { InferParameterSchema, ModelInferRequestSchema } from '../../../src/kserve/gen/grpc_service_pb.ts';
import { encodeInferRequest } from '../../../src/kserve/infer-request.ts';
import type { InferRequest, InputTensor, RegionRange } from '../../../src/kserve/tensor.ts';

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

const wire = (request: InferRequest) => encodeInferRequest(request).toString('hex');
const decoded = (request: InferRequest) =>
  fromBinary(ModelInferRequestSchema, Uint8Array.from(encodeInferRequest(request)));
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
    const message = decoded(region);
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

  it('an inline tensor after one in shared memory keeps its own bytes', () => {
    const second: InputTensor = { ...inline.inputs[0]!, name: 'PASSAGE' };
    const { inputs, rawInputContents } = decoded({ ...region, inputs: [region.inputs[0]!, second] });
    expect(inputs.map(({ parameters }) => Object.keys(parameters).length)).toEqual([3, 0]);
    expect(rawInputContents).toEqual([Uint8Array.from(encodeAll(texts))]);
  });

  it('any request is what a general decoder makes of it', () => {
    const name = fc.string({ unit: 'binary', maxLength: 300 }).map((text) => Buffer.from(text).toString());
    const size = fc.oneof(fc.nat(), fc.maxSafeNat());
    const range = fc.record({ region: name, offset: size, byteSize: size });
    const output = fc.record({ name, region: fc.option(range, { nil: undefined }) });
    const input = fc.oneof(
      fc
        .uint8Array({ maxLength: 20_000 })
        .map((bytes) => ({ shape: [bytes.length], data: { kind: 'inline' as const, bytes } })),
      range.map((of) => ({ shape: [1, of.byteSize], data: { kind: 'region' as const, range: of } })),
    );
    fc.assert(
      fc.property(
        name,
        name,
        fc.array(fc.tuple(name, input), { maxLength: 4 }),
        fc.array(output, { maxLength: 4 }),
        fc.dictionary(name, name, { maxKeys: 3 }),
        (modelName, id, tensors, outputs, parameters) => {
          const inputs = tensors.map(([named, rest]): InputTensor => ({ name: named, datatype: 'UINT8', ...rest }));
          const asked = outputs.map(({ name: named, region: at }) =>
            at === undefined ? { name: named } : { name: named, region: at },
          );
          const request: InferRequest = { modelName, id, modelVersion: '1', inputs, outputs: asked, parameters };
          expect(decoded(request)).toEqual(expected(request));
        },
      ),
      { numRuns: 300 },
    );
  });
});

const text = (value: string) => create(InferParameterSchema, { parameterChoice: { case: 'stringParam', value } });
const whole = (value: number) =>
  create(InferParameterSchema, { parameterChoice: { case: 'int64Param', value: BigInt(value) } });

function inRegion(at: RegionRange | undefined) {
  if (at === undefined) return {};
  return {
    shared_memory_region: text(at.region),
    shared_memory_byte_size: whole(at.byteSize),
    ...(at.offset === 0 ? {} : { shared_memory_offset: whole(at.offset) }),
  };
}

function expected({ modelName, id, modelVersion, inputs, outputs, parameters }: InferRequest) {
  return create(ModelInferRequestSchema, {
    modelName,
    id: id!,
    modelVersion: modelVersion!,
    inputs: inputs.map(({ name, datatype, shape, data }) => ({
      name,
      datatype,
      shape: shape.map(BigInt),
      parameters: inRegion(data.kind === 'region' ? data.range : undefined),
    })),
    outputs: outputs.map(({ name, region: at }) => ({ name, parameters: inRegion(at) })),
    rawInputContents: inputs.flatMap(({ data }) => (data.kind === 'inline' ? [data.bytes] : [])),
    parameters: Object.fromEntries(Object.entries(parameters!).map(([key, value]) => [key, text(value)])),
  });
}

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
