/** Entry of the model thread: opens the model, says so, and answers requests. The engine's own thread stays free. */
import { parentPort, workerData } from 'node:worker_threads';
import { asServingError } from '../errors.ts';
import { OnnxModel } from './onnx-model.ts';
import type { ThreadData, ThreadReply, ThreadRequest } from './onnx-thread-protocol.ts';

const port = parentPort;
if (port === null) throw new Error('onnx-thread runs only as a worker thread of the engine');

function say(reply: ThreadReply, transfer: ArrayBuffer[] = []): void {
  port!.postMessage(reply, transfer);
}

async function answer(model: OnnxModel, request: ThreadRequest): Promise<void> {
  try {
    const values =
      request.kind === 'embed'
        ? await model.embed(request.texts)
        : await model.scorePairs(request.queries, request.passages);
    say({ kind: 'values', id: request.id, values }, [values.buffer as ArrayBuffer]);
  } catch (error) {
    // onnxruntime's own message names nodes and shapes, never texts.
    const message = error instanceof Error ? error.message : String(error);
    say({ kind: 'failed', id: request.id, message });
  }
}

try {
  const model = await OnnxModel.open(workerData as ThreadData);
  port.on('message', (request: ThreadRequest) => void answer(model, request));
  say({ kind: 'ready', dims: model.dims });
} catch (error) {
  const { code, message } = asServingError(error);
  say({ kind: 'refused', code, message });
}
