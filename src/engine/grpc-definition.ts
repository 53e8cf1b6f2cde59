/** A grpc-js service definition from a generated protobuf-es service: paths, kinds and codecs of its methods. */
import { type DescMethod, type DescService, fromBinary, type Message, toBinary } from '@bufbuild/protobuf';
import type { MethodDefinition, ServiceDefinition } from '@grpc/grpc-js';
import { asBuffer } from '../kserve/bytes.ts';

export function grpcDefinition(service: DescService): ServiceDefinition {
  return Object.fromEntries(service.methods.map((method) => [method.localName, methodDefinition(service, method)]));
}

function methodDefinition(service: DescService, method: DescMethod): MethodDefinition<Message, Message> {
  const { methodKind } = method;
  return {
    path: `/${service.typeName}/${method.name}`,
    requestStream: methodKind === 'client_streaming' || methodKind === 'bidi_streaming',
    responseStream: methodKind === 'server_streaming' || methodKind === 'bidi_streaming',
    requestSerialize: (message) => asBuffer(toBinary(method.input, message)),
    requestDeserialize: (bytes) => fromBinary(method.input, bytes),
    responseSerialize: (message) => asBuffer(toBinary(method.output, message)),
    responseDeserialize: (bytes) => fromBinary(method.output, bytes),
  };
}
