/**
 * OnnxThread: the model in a worker thread, seen from the engine's thread.
 *
 * A thread that dies fails every request that is open and all that come later; nothing restarts it here, because
 * whatever killed it (out of memory, mostly) would kill the next one too: the process ends and its supervisor decides.
 */
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { Worker } from 'node:worker_threads';
import { type ErrorCode, errorCodes, ServingError } from '../errors.ts';
import type { ThreadData, ThreadReply, ThreadRequest } from './onnx-thread-protocol.ts';
import type { TextModel } from './text-model.ts';
import { WireFault } from './wire-fault.ts';

type Open = { readonly resolve: (values: Float32Array) => void; readonly reject: (error: WireFault) => void };

export class OnnxThread implements TextModel {
  readonly dims: number;
  readonly #worker: Worker;
  readonly #open = new Map<number, Open>();
  #lastId = 0;
  #dead: WireFault | undefined;
  #closing = false;
  #onDead: (error: ServingError) => void = () => {};

  private constructor(worker: Worker, dims: number) {
    this.#worker = worker;
    this.dims = dims;
    worker.on('message', (reply: ThreadReply) => this.#settle(reply));
    worker.on('error', (error) => this.#die(error));
    worker.on('exit', () => this.#die(undefined));
  }

  /** Throws ENGINE_MODEL_INVALID, or DEPENDENCY_MISSING when the compiled thread file is not there. */
  static async open(data: ThreadData): Promise<OnnxThread> {
    const worker = new Worker(threadEntry(), { workerData: data, name: 'onnx-model' });
    return new OnnxThread(worker, await readiness(worker));
  }

  get healthy(): boolean {
    return this.#dead === undefined;
  }

  /** Told once, if the thread dies without having been closed. */
  onDead(listener: (error: ServingError) => void): void {
    this.#onDead = listener;
  }

  embed(texts: readonly string[]): Promise<Float32Array> {
    return this.#ask((id) => ({ id, kind: 'embed', texts }));
  }

  scorePairs(queries: readonly string[], passages: readonly string[]): Promise<Float32Array> {
    return this.#ask((id) => ({ id, kind: 'score', queries, passages }));
  }

  async close(): Promise<void> {
    this.#closing = true;
    await this.#worker.terminate();
  }

  #ask(make: (id: number) => ThreadRequest): Promise<Float32Array> {
    if (this.#dead !== undefined) return Promise.reject(this.#dead);
    const id = ++this.#lastId;
    return new Promise((resolve, reject) => {
      this.#open.set(id, { resolve, reject });
      this.#worker.postMessage(make(id));
    });
  }

  #settle(reply: ThreadReply): void {
    if (reply.kind !== 'values' && reply.kind !== 'failed') return;
    const open = this.#open.get(reply.id);
    this.#open.delete(reply.id);
    if (reply.kind === 'values') open?.resolve(reply.values);
    else open?.reject(new WireFault('INTERNAL', `onnxruntime failed: ${reply.message}`, 'BACKEND'));
  }

  #die(cause: Error | undefined): void {
    if (this.#dead !== undefined) return;
    this.#dead = new WireFault('INTERNAL', 'the model thread is not healthy', 'BACKEND', cause);
    for (const { reject } of this.#open.values()) reject(this.#dead);
    this.#open.clear();
    if (!this.#closing) this.#onDead(new ServingError('INTERNAL', 'the model thread of the engine died', { cause }));
  }
}

/** Dimensions of the model that the thread has opened. */
async function readiness(worker: Worker): Promise<number> {
  const heard = new AbortController();
  const { signal } = heard;
  try {
    const reply = await Promise.race([
      once(worker, 'message', { signal }).then(([message]) => message as ThreadReply),
      once(worker, 'exit', { signal }).then(([code]) => {
        throw new ServingError('INTERNAL', `the model thread ended with code ${code} before it was ready`);
      }),
    ]);
    if (reply.kind === 'ready') return reply.dims;
    const [code, message] = reply.kind === 'refused' ? [reply.code, reply.message] : ['INTERNAL', 'no model'];
    throw new ServingError(knownCode(code), message);
  } catch (error) {
    if (error instanceof ServingError) throw error;
    throw new ServingError('INTERNAL', 'the model thread failed to start', { cause: error });
  } finally {
    // One by one: a Worker whose listeners are all removed at once gives no more messages.
    heard.abort();
  }
}

function knownCode(code: string): ErrorCode {
  return errorCodes.find((known) => known === code) ?? 'INTERNAL';
}

/** Beside this file when it is compiled; when a test runner runs the sources, the compiled one under dist. */
function threadEntry(): URL {
  const own = import.meta.url;
  const entry = own.endsWith('.ts')
    ? new URL('../../dist/src/engine/onnx-thread.js', own)
    : new URL('./onnx-thread.js', own);
  if (existsSync(fileURLToPath(entry))) return entry;
  throw new ServingError('DEPENDENCY_MISSING', `${fileURLToPath(entry)} is missing: run \`npm run build\` first`);
}
