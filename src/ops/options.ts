/** What a program gives its ops server: where to listen, who may read, and where the answers come from. */
import type { ReadinessSnapshot } from './readiness.ts';
import type { StatusSnapshot } from './status-schema.ts';

export type OpsAnswers = {
  /** When given, every route that shows numbers asks for it. */
  readonly apiKey: string | undefined;
  /** Read anew for every request. Throwing counts as not ready. */
  snapshot(): ReadinessSnapshot;
  /** Read anew for every request of /status. */
  status(): StatusSnapshot;
  /** In the form that the Accept header asks for. */
  readonly metrics: { render(accept?: string): Promise<{ readonly contentType: string; readonly text: string }> };
  /** Why only another process would get on; undefined while this one does. Liveness is 503 then. */
  stalled?(): string | undefined;
  /** Takes secrets out of the reasons that are shown. */
  redact(text: string): string;
  /** Told why an answer failed; the answer itself does not say. */
  onFault?(error: unknown): void;
};

export type OpsServerOptions = OpsAnswers & {
  /** `0.0.0.0` and `::` mean every interface of every family; no brackets. */
  readonly host: string;
  /** 0 takes any free port. */
  readonly port: number;
};
