/** `rag-serving worker`: chunks from Kafka through the model into the store. */
import type { Command } from 'commander';
import type { Env } from '../src/config/env-reader.ts';

type Options = { readonly sinkModule?: string };

const HELP = `
Settings are environment variables (see .env.example). The worker needs KAFKA_BOOTSTRAP_SERVERS, a model server at
RAG_SERVING_BATCH_INGEST_GRPC_URL and a store (RAG_SERVING_SINK). It waits for those that are not there yet.

Signals: SIGTERM or SIGINT stops fetching, finishes what is in flight within RAG_SERVING_DRAIN_TIMEOUT_MS, commits and
leaves the group. A second signal leaves 3 seconds. A notice that the machine will be taken away (RAG_SERVING_SPOT_PROVIDER)
does the same within what the notice leaves.
SIGUSR2 switches the log to DEBUG and back.

Traces: the standard variables of OpenTelemetry. OTEL_EXPORTER_OTLP_ENDPOINT or OTEL_EXPORTER_OTLP_TRACES_ENDPOINT switches
them on; OTEL_EXPORTER_OTLP_PROTOCOL, _HEADERS, OTEL_SERVICE_NAME, OTEL_RESOURCE_ATTRIBUTES, OTEL_TRACES_SAMPLER, _ARG and
OTEL_BSP_* are heeded; OTEL_SDK_DISABLED=true or OTEL_TRACES_EXPORTER=none switches them off. A collector that is away holds
nothing up.

Examples:
  KAFKA_BOOTSTRAP_SERVERS=kafka:9092 RAG_SERVING_SINK=redis rag-serving worker
  rag-serving worker --sink-module ./my-sink.mjs

Exit codes: 0 drained, 1 failed, 2 wrong settings, 3 stopped with work not finished (not committed, read again later).`;

export function registerWorkerCommand(program: Command, env: Env): void {
  program
    .command('worker')
    .description('read chunks from Kafka, embed them, store the vectors, then commit')
    .option('--sink-module <path|package>', 'store of your own; the same as RAG_SERVING_SINK_MODULE')
    .addHelpText('after', HELP)
    .action(async ({ sinkModule }: Options) => {
      const [{ readWorkerConfig }, { startLogged }, { runWorker }] = await Promise.all([
        import('../src/config/programs.ts'),
        import('./start-logged.ts'),
        import('./worker/run.ts'),
      ]);
      const config = readWorkerConfig(sinkModule === undefined ? env : { ...env, RAG_SERVING_SINK_MODULE: sinkModule });
      const { log, redactor } = startLogged(config, 'rag-serving-worker');
      process.exitCode = await runWorker(config, log, redactor);
    });
}
