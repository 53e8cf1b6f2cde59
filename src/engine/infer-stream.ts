/**
 * One ModelStreamInfer stream: requests are computed as they come, answers leave in the order of the requests.
 *
 * That is Triton's behaviour, and it has a price: a slow request holds back the answers behind it, refusals included.
 * A fault is an answer with an `error_message` and the request's id; the stream goes on.
 */
import { setMaxListeners } from 'node:events';
import { create } from '@bufbuild/protobuf';
import type { ServerDuplexStream } from '@grpc/grpc-js';
import {
  InferParameterSchema,
  type ModelInferRequest,
  type ModelStreamInferResponse,
  ModelStreamInferResponseSchema,
} from '../kserve/gen/grpc_service_pb.ts';
import type { Inference } from './inference.ts';
import { asWireFault } from './wire-fault.ts';

export type InferCall = ServerDuplexStream<ModelInferRequest, ModelStreamInferResponse>;

/** A client that sends faster than it is answered is not read any further beyond this. */
const MAX_UNANSWERED = 4096;

const FINAL_RESPONSE = create(InferParameterSchema, { parameterChoice: { case: 'boolParam', value: true } });

export function serveInferStream(call: InferCall, inference: Inference): void {
  const gone = new AbortController();
  // One listener for each unanswered request.
  setMaxListeners(MAX_UNANSWERED + 1, gone.signal);
  let unanswered = 0;
  let ended = false;
  let tail: Promise<void> = Promise.resolve();

  call.on('cancelled', () => gone.abort());
  call.on('error', () => gone.abort());
  call.on('data', (message: ModelInferRequest) => {
    unanswered++;
    if (unanswered >= MAX_UNANSWERED) call.pause();
    const answer = answerOf(message, inference, gone.signal);
    tail = tail.then(async () => {
      await write(call, await answer, gone.signal);
      unanswered--;
      if (unanswered < MAX_UNANSWERED / 2 && call.isPaused()) call.resume();
    });
  });
  call.on('end', () => {
    if (ended) return;
    ended = true;
    void tail.then(() => !gone.signal.aborted && call.end());
  });
}

async function answerOf(
  message: ModelInferRequest,
  inference: Inference,
  signal: AbortSignal,
): Promise<ModelStreamInferResponse> {
  try {
    const response = await inference.run(message, signal);
    response.parameters.triton_final_response = FINAL_RESPONSE;
    return create(ModelStreamInferResponseSchema, { inferResponse: response });
  } catch (error) {
    return create(ModelStreamInferResponseSchema, {
      errorMessage: asWireFault(error).message,
      inferResponse: { id: message.id },
    });
  }
}

async function write(call: InferCall, answer: ModelStreamInferResponse, gone: AbortSignal): Promise<void> {
  if (gone.aborted || call.write(answer)) return;
  await new Promise<void>((resolve) => {
    const go = () => {
      call.off('drain', go);
      gone.removeEventListener('abort', go);
      resolve();
    };
    call.once('drain', go);
    gone.addEventListener('abort', go, { once: true });
  });
}
