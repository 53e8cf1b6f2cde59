/**
 * One look at a model server: its HTTP side, each model over HTTP, a real inference over gRPC, and what its metrics and
 * statistics say of GPU memory. All questions at once, each with the same time limit.
 *
 * The inference is the point: a python model whose process has died stays ready over HTTP and gRPC, and only fails to infer.
 */
import { asServingError } from '../../errors.ts';
import type { InferenceClient } from '../../inference/client.ts';
import type { ModelDescription } from '../../kserve/model-description.ts';
import { readVram, type VramReading } from '../vram/reading.ts';
import { type GpuHoldings, readHoldings } from '../vram/statistics.ts';
import { ask, below, type HttpAnswer } from './http.ts';
import { readInferenceCounts } from './inference-counts.ts';
import { answerFault, probeRequest } from './probe-request.ts';

export type Verdict =
  | { readonly kind: 'ok' }
  | { readonly kind: 'failed'; readonly reason: string }
  /** The model takes inputs that nothing here can feed. */
  | { readonly kind: 'untried'; readonly reason: string };

export type ModelLook = {
  readonly name: string;
  /** Undefined where there is no HTTP side to ask. */
  readonly http: Verdict | undefined;
  readonly inference: Verdict;
  readonly description: ModelDescription | undefined;
};

export type Look = {
  readonly server: Verdict | undefined;
  readonly models: readonly ModelLook[];
  /** Undefined where metrics are not watched. */
  readonly vram: VramReading | undefined;
  readonly holdings: GpuHoldings | undefined;
  /** Inferences of each model since it was loaded; undefined where the server does not tell. */
  readonly inferences: ReadonlyMap<string, number> | undefined;
};

export type ProbeOptions = {
  /** Undefined: no inference is tried. */
  readonly client: Pick<InferenceClient, 'describeModel' | 'infer'> | undefined;
  readonly models: readonly string[];
  readonly httpUrl: string | undefined;
  readonly metricsUrl: string | undefined;
  readonly timeoutMs: number;
};

const OK: Verdict = { kind: 'ok' };

export class ModelServerProbe {
  readonly #options: ProbeOptions;
  readonly #descriptions = new Map<string, ModelDescription>();

  constructor(options: ProbeOptions) {
    this.#options = options;
  }

  /** Never rejects. */
  async look(): Promise<Look> {
    const [server, models, vram, statistics] = await Promise.all([
      this.#askHttp('/v2/health/ready'),
      Promise.all(this.#options.models.map((name) => this.#lookAtModel(name))),
      this.#readVram(),
      this.#readStatistics(),
    ]);
    return { server, models, vram, ...statistics };
  }

  async isLive(): Promise<boolean> {
    const { httpUrl, timeoutMs } = this.#options;
    if (httpUrl === undefined) return false;
    const answer = await ask(below(httpUrl, '/v2/health/live'), timeoutMs);
    return answer.kind === 'answer' && answer.status === 200;
  }

  async #lookAtModel(name: string): Promise<ModelLook> {
    const [http, inference] = await Promise.all([
      this.#askHttp(`/v2/models/${encodeURIComponent(name)}/ready`),
      this.#infer(name),
    ]);
    return { name, http, inference, description: this.#descriptions.get(name) };
  }

  async #askHttp(path: string): Promise<Verdict | undefined> {
    const { httpUrl, timeoutMs } = this.#options;
    return httpUrl === undefined ? undefined : verdictOf(await ask(below(httpUrl, path), timeoutMs));
  }

  async #infer(name: string): Promise<Verdict> {
    const { client, timeoutMs } = this.#options;
    if (client === undefined) return { kind: 'untried', reason: 'is not asked here' };
    const signal = AbortSignal.timeout(timeoutMs);
    try {
      const description = this.#descriptions.get(name) ?? (await client.describeModel(name, { timeoutMs, signal }));
      this.#descriptions.set(name, description);
      const request = probeRequest(description);
      if (request === undefined) {
        return { kind: 'untried', reason: 'takes neither TEXT nor QUERY and PASSAGE' };
      }
      const fault = answerFault(await client.infer(request, { timeoutMs, signal }));
      return fault === undefined ? OK : { kind: 'failed', reason: fault };
    } catch (thrown) {
      if (signal.aborted) return { kind: 'failed', reason: `no answer within ${timeoutMs} ms` };
      const error = asServingError(thrown);
      // A full queue is an answer: the model is busy, not away.
      if (error.failureClass === 'backpressure') return OK;
      // What the model was may no longer be what it is.
      this.#descriptions.delete(name);
      return { kind: 'failed', reason: `${error.code}: ${error.message}` };
    }
  }

  async #readVram(): Promise<VramReading | undefined> {
    const { metricsUrl, timeoutMs } = this.#options;
    if (metricsUrl === undefined) return undefined;
    const answer = await ask(metricsUrl, timeoutMs);
    if (answer.kind === 'none') return { kind: 'unreachable', reason: answer.reason };
    if (answer.status !== 200) return { kind: 'unreachable', reason: `HTTP ${answer.status}` };
    return readVram(answer.text);
  }

  async #readStatistics(): Promise<Pick<Look, 'holdings' | 'inferences'>> {
    const { httpUrl, metricsUrl, timeoutMs } = this.#options;
    const none = { holdings: undefined, inferences: undefined };
    if (httpUrl === undefined || metricsUrl === undefined) return none;
    const answer = await ask(below(httpUrl, '/v2/models/stats'), timeoutMs);
    if (answer.kind === 'none' || answer.status !== 200) return none;
    try {
      const statistics: unknown = JSON.parse(answer.text);
      return { holdings: readHoldings(statistics), inferences: readInferenceCounts(statistics) };
    } catch {
      return none;
    }
  }
}

function verdictOf(answer: HttpAnswer): Verdict {
  if (answer.kind === 'none') return { kind: 'failed', reason: answer.reason };
  return answer.status === 200 ? OK : { kind: 'failed', reason: `HTTP ${answer.status}` };
}
