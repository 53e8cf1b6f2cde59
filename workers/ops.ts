/** `rag-serving ops`: what stands beside a Triton and says whether it is well. */
import type { Command } from 'commander';
import type { Env } from '../src/config/env-reader.ts';

const HELP = `
Settings are environment variables (see .env.example). It asks the Triton beside it at RAG_SERVING_TRITON_HTTP_URL,
RAG_SERVING_TRITON_GRPC_URL and RAG_SERVING_TRITON_METRICS_URL, every RAG_SERVING_READY_INTERVAL_MS: is the server ready,
is each model (RAG_SERVING_READY_MODELS, else the ensemble of RAG_SERVING_POOL_TYPE), does a real inference succeed, is
there GPU memory left. It waits for a Triton that is not there yet. With RAG_SERVING_GOLDEN_FILE the model must also pass its
golden check once each time it was loaded (see rag-serving models check --help).

  GET /healthz           is this process alive
  GET /ready             should the pod get work; each check says why not, and since when
  GET /                  the live page, for a browser (fed by /events)
  GET /metrics, /status  numbers (with RAG_SERVING_API_KEY, when it is set)
  GET /docs              all of it, with its schemas

Signals: SIGTERM or SIGINT: not ready at once; it goes on answering while Triton lives, for RAG_SERVING_OPS_LINGER_MS at
most. A second signal ends it. SIGUSR2 switches the log to DEBUG and back.

Examples:
  rag-serving ops
  RAG_SERVING_POOL_TYPE=online_reranker RAG_SERVING_SERVER_PORT=8081 rag-serving ops

Exit codes: 0 stopped by a signal, 1 failed, 2 wrong settings or a port that is taken.`;

export function registerOpsCommand(program: Command, env: Env): void {
  program
    .command('ops')
    .description('sidecar of a Triton: liveness, readiness, GPU memory, metrics and their documentation over HTTP')
    .addHelpText('after', HELP)
    .action(async () => {
      const [{ readOpsConfig }, { startLogged }, { runOps }] = await Promise.all([
        import('../src/config/programs.ts'),
        import('./start-logged.ts'),
        import('./ops/run.ts'),
      ]);
      const config = readOpsConfig(env);
      const { log, redactor } = startLogged(config, 'rag-serving-ops');
      process.exitCode = await runOps(config, log, redactor);
    });
}
