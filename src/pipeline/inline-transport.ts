/** Texts and vectors inside the gRPC messages: for engines that do not share our memory. */
import type { InferenceClient } from '../inference/client.ts';
import { inferWithin } from '../inference/infer-span.ts';
import { encodeAll } from '../kserve/bytes.ts';
import type { VectorContract } from '../kserve/contract.ts';
import { embeddingOf, embeddingRequest } from '../kserve/embedding-tensors.ts';
import type { Span } from '../telemetry/tracing.ts';
import type { EmbeddedBatch, EmbedTransport } from './transport.ts';

export type InlineTransportOptions = {
  readonly client: InferenceClient;
  readonly contract: VectorContract;
  readonly timeoutMs: number;
};

export class InlineTransport implements EmbedTransport {
  readonly #options: InlineTransportOptions;

  constructor(options: InlineTransportOptions) {
    this.#options = options;
  }

  async embed(texts: readonly string[], span: Span | undefined, signal: AbortSignal): Promise<EmbeddedBatch> {
    const { client, contract, timeoutMs } = this.#options;
    const request = embeddingRequest(contract, texts.length, { kind: 'inline', bytes: encodeAll(texts) });
    const response = await inferWithin(span, client, request, { timeoutMs, signal });
    const { data } = embeddingOf(response, contract, texts.length);
    // The answer's own buffer: nobody else writes into it.
    return { vectors: data.kind === 'inline' ? data.bytes : new Uint8Array(0), transport: 'inline' };
  }
}
