/**
 * A collector for OTLP over HTTP or gRPC, of the test's own: it keeps what it is sent, as spans and as the bytes they came in.
 * Read field by field from the wire, for nobody publishes the messages in a form that our protobuf library reads.
 */
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { BinaryReader, WireType } from '@bufbuild/protobuf/wire';
import { Server, ServerCredentials } from '@grpc/grpc-js';

export type Attributes = Readonly<Record<string, string | number>>;

export type ReceivedSpan = {
  readonly resource: Attributes;
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId: string;
  readonly name: string;
  /** 1 internal, 2 server, 3 client, 4 producer, 5 consumer */
  readonly kind: number;
  readonly attributes: Attributes;
  readonly links: readonly {
    readonly traceId: string;
    readonly spanId: string;
    readonly traceState: string;
    readonly attributes: Attributes;
  }[];
  readonly droppedLinks: number;
  /** Empty when it has not failed. */
  readonly status: string;
};

export type Received = {
  readonly endpoint: string;
  readonly spans: ReceivedSpan[];
  /** Whatever came, undecoded. */
  readonly bodies: Buffer[];
  readonly headers: Readonly<Record<string, unknown>>[];
  close(): Promise<void>;
};

export async function receiveHttp(): Promise<Received> {
  const kept = keeper();
  const server = createServer((request, response) => {
    const parts: Buffer[] = [];
    request.on('data', (part: Buffer) => parts.push(part));
    request.on('end', () => {
      if (request.url !== '/v1/traces') return response.writeHead(404).end();
      kept.take(Buffer.concat(parts), request.headers);
      return response.writeHead(200, { 'content-type': 'application/x-protobuf' }).end();
    });
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    ...kept,
    endpoint: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    close: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

export async function receiveGrpc(): Promise<Received> {
  const kept = keeper();
  const server = new Server();
  const bytes = (value: Buffer) => value;
  const plain = {
    requestSerialize: bytes,
    requestDeserialize: bytes,
    responseSerialize: bytes,
    responseDeserialize: bytes,
  };
  const path = '/opentelemetry.proto.collector.trace.v1.TraceService/Export';
  server.addService(
    { export: { path, requestStream: false, responseStream: false, ...plain } },
    {
      export: (
        call: { request: Buffer; metadata: { getMap(): object } },
        reply: (error: null, value: Buffer) => void,
      ) => {
        kept.take(call.request, { ...call.metadata.getMap() });
        reply(null, Buffer.alloc(0));
      },
    },
  );
  const port = await new Promise<number>((resolve, reject) => {
    server.bindAsync('127.0.0.1:0', ServerCredentials.createInsecure(), (error, bound) =>
      error ? reject(error) : resolve(bound),
    );
  });
  return { ...kept, endpoint: `http://127.0.0.1:${port}`, close: async () => server.forceShutdown() };
}

function keeper() {
  const spans: ReceivedSpan[] = [];
  const bodies: Buffer[] = [];
  const headers: Readonly<Record<string, unknown>>[] = [];
  const take = (body: Buffer, sentWith: Readonly<Record<string, unknown>>) => {
    bodies.push(body);
    headers.push(sentWith);
    for (const resourceSpans of fields(body).messages(1)) {
      const resource = attributesOf(resourceSpans.message(1), 1);
      const scopes = resourceSpans.messages(2);
      for (const span of scopes.flatMap((scope) => scope.messages(2))) spans.push(spanOf(span, resource));
    }
  };
  return { spans, bodies, headers, take };
}

/** Numbers of the fields are those of opentelemetry/proto/trace/v1/trace.proto. */
function spanOf(span: Fields, resource: Attributes): ReceivedSpan {
  return {
    resource,
    traceId: span.hex(1),
    spanId: span.hex(2),
    parentSpanId: span.hex(4),
    name: span.text(5),
    kind: span.number(6),
    attributes: attributesOf(span, 9),
    links: span.messages(13).map((link) => ({
      traceId: link.hex(1),
      spanId: link.hex(2),
      traceState: link.text(3),
      attributes: attributesOf(link, 4),
    })),
    droppedLinks: span.number(14),
    status: span.message(15).number(3) === 2 ? span.message(15).text(2) : '',
  };
}

function attributesOf(holder: Fields, number: number): Attributes {
  const entries = holder.messages(number).map((pair) => {
    const value = pair.message(2);
    return [pair.text(1), value.has(1) ? value.text(1) : value.number(3)] as const;
  });
  return Object.fromEntries(entries);
}

type Fields = {
  has(field: number): boolean;
  hex(field: number): string;
  text(field: number): string;
  number(field: number): number;
  message(field: number): Fields;
  messages(field: number): Fields[];
};

function fields(bytes: Uint8Array): Fields {
  const found = new Map<number, (Uint8Array | number)[]>();
  const reader = new BinaryReader(bytes);
  while (reader.pos < reader.len) {
    const [field, wireType] = reader.tag();
    const values = found.get(field) ?? [];
    found.set(field, values);
    if (wireType === WireType.LengthDelimited) values.push(reader.bytes());
    else if (wireType === WireType.Varint) values.push(Number(reader.uint64()));
    else reader.skip(wireType);
  }
  const all = (field: number) => found.get(field) ?? [];
  const bytesOf = (value: Uint8Array | number | undefined) => Buffer.from(value instanceof Uint8Array ? value : []);
  const first = (field: number) => bytesOf(all(field)[0]);
  return {
    has: (field) => found.has(field),
    hex: (field) => first(field).toString('hex'),
    text: (field) => first(field).toString('utf8'),
    number: (field) => Number(all(field)[0] ?? 0),
    message: (field) => fields(first(field)),
    messages: (field) => all(field).map((value) => fields(bytesOf(value))),
  };
}
