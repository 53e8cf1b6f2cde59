/** `rag-serving status` beside a broker, a Redis and a worker. */
import { type CommandEnd, DlqWorld } from '../dlq/dlq-world.ts';
import type { Env, WorkerProcess } from '../worker/harness.ts';

export type Part = Readonly<Record<string, unknown>> & { readonly state: string; readonly code?: string };

export type StatusJson = {
  readonly event: string;
  readonly lag: string | null;
  readonly rate: { readonly committedPerSecond: number; readonly arrivedPerSecond: number } | null;
  readonly eta: { readonly state: string; readonly seconds: number | null } | null;
  readonly offsets: Part & { readonly partitions?: readonly Part[] };
  readonly members: Part & { readonly group?: string; readonly members?: readonly Part[] };
  readonly retries: Part;
  readonly deadLetters: Part & { readonly count?: string; readonly last?: Part };
  readonly engines: readonly Part[];
  readonly workers: readonly (Part & { readonly url: string })[];
};

export class StatusWorld extends DlqWorld {
  /** Settings of the worker, which the command reads too. */
  settings(target: string, redisUrl: string): Env {
    return {
      RAG_SERVING_SINK: 'memory',
      RAG_SERVING_BATCH_INGEST_GRPC_URL: target,
      RAG_SERVING_RETRY_REDIS_URL: redisUrl,
      RAG_SERVING_RETRY_BACKOFF_MS: '600000',
    };
  }

  async json(
    args: readonly string[],
    more: Env = {},
  ): Promise<{ readonly end: CommandEnd; readonly status: StatusJson }> {
    const end = await this.run(['status', '--json', ...args], more);
    const status = end.lines.find(({ event }) => event === 'status');
    if (status === undefined) throw new Error(`no status:\n${end.output}`);
    return { end, status: status as unknown as StatusJson };
  }
}

export function urlOf({ port }: WorkerProcess): string {
  return `http://127.0.0.1:${port}`;
}
