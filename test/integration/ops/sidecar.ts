/** `rag-serving ops` as a process, and what a test asks of it. */
import { type Exit, Program } from '../../../scripts/stack/program.ts';
import type { RunningTriton } from '../../../scripts/stack/triton.ts';
import { type ReadinessBody, readinessSchema } from '../../../src/ops/answer-schemas.ts';
import { type StatusSnapshot, statusSchema } from '../../../src/ops/status-schema.ts';
import { eventually } from '../worker/harness.ts';

export const INTERVAL_MS = 2_000;
/** What a busy machine may add to two intervals. */
const SLACK_MS = 4_000;

export class Sidecar {
  readonly program: Program;
  readonly port: number;

  constructor(program: Program, port: number) {
    this.program = program;
    this.port = port;
  }

  async get(path: string): Promise<Response> {
    return fetch(`http://127.0.0.1:${this.port}${path}`, { signal: AbortSignal.timeout(5_000) });
  }

  async ready(): Promise<{ readonly status: number; readonly body: ReadinessBody }> {
    const response = await this.get('/ready');
    return { status: response.status, body: readinessSchema.parse(await response.json()) };
  }

  async status(): Promise<StatusSnapshot> {
    return statusSchema.parse(await (await this.get('/status')).json());
  }

  /** State of each check by its name. */
  async checks(): Promise<Readonly<Record<string, string>>> {
    const { body } = await this.ready();
    return Object.fromEntries(body.checks.map(({ name, state }) => [name, state]));
  }

  async reasonOf(check: string): Promise<string> {
    const { body } = await this.ready();
    return body.checks.find(({ name }) => name === check)?.reason ?? '';
  }

  /** Within two intervals, and what a busy machine adds. */
  turns(status: 200 | 503): Promise<void> {
    const what = `/ready turns ${status} within two intervals`;
    return eventually(what, async () => (await this.ready()).status === status, 2 * INTERVAL_MS + SLACK_MS);
  }

  stop(signal: NodeJS.Signals = 'SIGTERM'): Promise<Exit> {
    return this.program.stop(signal);
  }
}

/** Resolves when it listens; it may still wait for its first look. */
export async function startSidecar(env: Readonly<Record<string, string>>): Promise<Sidecar> {
  const program = new Program(['ops'], {
    RAG_SERVING_SERVER_HOST: '127.0.0.1',
    RAG_SERVING_SERVER_PORT: '0',
    RAG_SERVING_READY_INTERVAL_MS: String(INTERVAL_MS),
    RAG_SERVING_READY_TIMEOUT_MS: String(INTERVAL_MS),
    ...env,
  });
  const { port } = await program.line(({ msg }) => msg === 'ops server listens');
  return new Sidecar(program, Number(port));
}

/** Settings of a sidecar of this Triton. */
export function beside(triton: RunningTriton): Readonly<Record<string, string>> {
  return {
    RAG_SERVING_TRITON_HTTP_URL: triton.httpUrl,
    RAG_SERVING_TRITON_GRPC_URL: triton.grpcUrl,
    RAG_SERVING_TRITON_METRICS_URL: triton.metricsUrl,
  };
}
