/**
 * A gRPC server inside the test process, for faults that a real Triton cannot be made to show on demand: any status with
 * any text, silence, answers that break the protocol. What Triton really does is tested against a real one.
 */
import {
  create,
  type DescMessage,
  type DescMethodUnary,
  fromBinary,
  type MessageInitShape,
  type MessageShape,
  toBinary,
} from '@bufbuild/protobuf';
import {
  type Metadata,
  Server,
  ServerCredentials,
  type ServerOptions,
  type ServerUnaryCall,
  type sendUnaryData,
  type status,
} from '@grpc/grpc-js';
import { GRPCInferenceService } from '../../../src/kserve/gen/grpc_service_pb.ts';

export type Failure = { readonly code: status; readonly details: string };
export type Seen = {
  readonly metadata: Metadata;
  readonly deadlineMs: number;
  readonly cancelled: () => boolean;
  /** Name in the certificate of the client; undefined without one. */
  readonly client: string | undefined;
  /** Of this server, as the client calls it. */
  readonly host: string;
};

type Methods = typeof GRPCInferenceService.method;
type Handler<M> =
  M extends DescMethodUnary<infer I extends DescMessage, infer O extends DescMessage>
    ? (request: MessageShape<I>, seen: Seen) => MessageInitShape<O> | Failure | Promise<MessageInitShape<O> | Failure>
    : never;
export type Handlers = { readonly [K in keyof Methods]?: Handler<Methods[K]> };

export type FakeServer = { readonly port: number; readonly target: string; stop(): void };

/** Answers with `handlers`; every other call is UNIMPLEMENTED. */
export async function startFakeServer(
  handlers: Handlers,
  {
    host = '127.0.0.1',
    port = 0,
    credentials = ServerCredentials.createInsecure(),
    ...options
  }: ServerOptions & {
    /** A loopback address. */
    readonly host?: string;
    readonly port?: number;
    readonly credentials?: ServerCredentials;
  } = {},
): Promise<FakeServer> {
  const server = new Server({ 'grpc.max_receive_message_length': -1, ...options });
  for (const [name, handler] of Object.entries(handlers)) {
    const method = GRPCInferenceService.method[name as keyof Methods] as DescMethodUnary;
    const path = `/${method.parent.typeName}/${method.name}`;
    server.addService(
      {
        [name]: {
          path,
          requestStream: false,
          responseStream: false,
          requestSerialize: (value: Buffer) => value,
          requestDeserialize: (bytes: Buffer) => fromBinary(method.input, bytes),
          responseSerialize: (value: MessageShape<DescMessage>) => Buffer.from(toBinary(method.output, value)),
          responseDeserialize: (bytes: Buffer) => bytes,
        },
      },
      { [name]: (call: Call, reply: Reply) => void answer(handler as AnyHandler, method, call, reply) },
    );
  }
  const bound = await new Promise<number>((resolve, reject) => {
    server.bindAsync(`${host}:${port}`, credentials, (error, actual) => (error ? reject(error) : resolve(actual)));
  });
  return { port: bound, target: `${host}:${bound}`, stop: () => server.forceShutdown() };
}

type Call = ServerUnaryCall<MessageShape<DescMessage>, MessageShape<DescMessage>>;
type Reply = sendUnaryData<MessageShape<DescMessage>>;
type AnyHandler = (request: MessageShape<DescMessage>, seen: Seen) => Promise<Record<string, unknown> | Failure>;

async function answer(handler: AnyHandler, method: DescMethodUnary, call: Call, reply: Reply): Promise<void> {
  const seen = {
    metadata: call.metadata,
    deadlineMs: Number(call.getDeadline()),
    cancelled: () => call.cancelled,
    client: nameOf(call.getAuthContext().sslPeerCertificate?.subject.CN),
    host: call.getHost(),
  };
  const result = await handler(call.request, seen);
  if ('code' in result) reply(result as Failure);
  else reply(null, create(method.output, result as MessageInitShape<DescMessage>));
}

function nameOf(commonName: string | string[] | undefined): string | undefined {
  return Array.isArray(commonName) ? commonName[0] : commonName;
}

/** A handler result that never comes. */
export const silence = <T>(): Promise<T> => new Promise(() => {});
