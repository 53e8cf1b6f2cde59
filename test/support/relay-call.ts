/** One gRPC call on its way through a proxy of ours: the request to the server behind it, the answer and its trailers back. */
import type { ClientHttp2Session, IncomingHttpHeaders, ServerHttp2Stream } from 'node:http2';

export function relayCall(stream: ServerHttp2Stream, headers: IncomingHttpHeaders, upstream: ClientHttp2Session): void {
  const request = upstream.request(headers);
  request.on('error', () => stream.close());
  stream.on('close', () => request.close());
  stream.pipe(request);
  let trailers: IncomingHttpHeaders = {};
  request.on('trailers', (last) => {
    trailers = last;
  });
  request.on('response', (answer) => {
    // An error comes as headers alone.
    const endStream = answer['grpc-status'] !== undefined;
    stream.on('wantTrailers', () => stream.sendTrailers(trailers));
    stream.respond(answer, endStream ? { endStream } : { waitForTrailers: true });
    if (!endStream) request.pipe(stream);
  });
}
