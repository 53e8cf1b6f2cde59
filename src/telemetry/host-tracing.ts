/**
 * The tracing of the host: found through the OpenTelemetry API package when there is one, and asked at each call whether an
 * SDK has been registered, for a host may do so later than it makes a client. Without either nothing is made.
 *
 * The types of this file do not mention the API's, so that a host without the package can check its own.
 */
import { type OtelApi, OtelTracer } from './otel-tracer.ts';
import type { Tracer } from './tracing.ts';

export type HostTracing = {
  /** Undefined while no SDK is registered. */
  tracer(): Tracer | undefined;
};

const SCOPE = 'rag-inference-serving';

/** Resolves with undefined where the package is not installed. */
export async function loadHostTracing(): Promise<HostTracing | undefined> {
  try {
    return new RegisteredTracing(await import('@opentelemetry/api'));
  } catch {
    return undefined;
  }
}

type ApiTracer = ReturnType<OtelApi['trace']['getTracer']>;
/** What the API gives before and after an SDK is registered: a proxy, which knows whether there is one behind it. */
type MaybeProxy = { getDelegateTracer?(name: string): ApiTracer | undefined; getTracer(name: string): ApiTracer };

class RegisteredTracing implements HostTracing {
  readonly #api: OtelApi;
  #delegate: ApiTracer | undefined;
  #tracer: Tracer | undefined;

  constructor(api: OtelApi) {
    this.#api = api;
  }

  tracer(): Tracer | undefined {
    const provider: MaybeProxy = this.#api.trace.getTracerProvider();
    const delegate =
      provider.getDelegateTracer === undefined ? provider.getTracer(SCOPE) : provider.getDelegateTracer(SCOPE);
    if (delegate !== this.#delegate) {
      this.#delegate = delegate;
      this.#tracer =
        delegate === undefined ? undefined : new OtelTracer(this.#api, delegate, () => this.#api.context.active());
    }
    return this.#tracer;
  }
}
