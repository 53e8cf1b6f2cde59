/**
 * Starts a real Triton on 127.0.0.1 with the pipelines of the pools, as build-model-repos makes them for a CPU, and with models that
 * misbehave on request: `startTriton()` resolves when every loaded model is ready.
 *
 * Its python backend makes files in /dev/shm that outlive a killed server; their name starts with a prefix of this instance,
 * so that they can be told from those of others and removed.
 */
import { cp, readdir } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { modelsIn } from '../build-model-repos/check/model-folder.ts';
import type { Report } from './cache.ts';
import { dataFolder } from './data-folder.ts';
import { freePort } from './free-port.ts';
import { committedPath } from './package-root.ts';
import { type RunningServer, startServer } from './server-process.ts';
import { tritonProgram } from './triton-install.ts';
import { layPipelines, pipelineModels } from './triton-models.ts';

export { tritonPython } from './triton-install.ts';

export type TritonOptions = {
  /** Folder of models; the pipelines and the committed test models unless given. */
  readonly modelRepository?: string;
  /** Names of the models to load, with what ensembles among them need; every one unless given. */
  readonly models?: readonly string[];
  /** Further models that are there to be loaded later. The test models always are; the pipelines are generated first. */
  readonly atHand?: readonly string[];
  readonly grpcPort?: number;
  readonly httpPort?: number;
  readonly metricsPort?: number;
  /** Further arguments of tritonserver, e.g. `['--log-verbose=1']`. */
  readonly args?: readonly string[];
  readonly onLine?: Report;
};

export type RunningTriton = RunningServer & {
  /** host:port, as gRPC clients take it. */
  readonly grpcUrl: string;
  /** http://host:port of the HTTP protocol. */
  readonly httpUrl: string;
  /** http://host:port/metrics. */
  readonly metricsUrl: string;
  /** Folder of the models; a copy of the test models, free to change, unless one was given. */
  readonly modelRepository: string;
  /** Start of the names of the python backend's files in /dev/shm. */
  readonly shmPrefix: string;
};

const TEST_MODELS = 'test/support/triton-models';
/** What the test models import from beside their repository, in which every folder would be taken for a model. */
const SHARED_PYTHON = 'test/support/stack-python';
/** Where the python backend unpacks environments, though none of ours is packed; TMPDIR does not move it. */
const ENVIRONMENTS = '/tmp/python_env_';
const READY_TIMEOUT_MS = 120_000;
/** An orderly end takes it 2–5 s. */
const STOP_TIMEOUT_MS = 10_000;
const QUESTION_TIMEOUT_MS = 2_000;

export async function startTriton(options: TritonOptions = {}): Promise<RunningTriton> {
  const report = options.onLine ?? (() => undefined);
  const program = await tritonProgram(report);
  const dataDir = await dataFolder('triton', undefined);
  const modelRepository = options.modelRepository ?? join(dataDir, 'triton-models');
  const models = options.models ?? (await namesIn(options.modelRepository));
  const [grpcPort, httpPort, metricsPort] = [
    options.grpcPort ?? (await freePort()),
    options.httpPort ?? (await freePort()),
    options.metricsPort ?? (await freePort()),
  ];
  const shmPrefix = `rag-triton-${process.pid}-${grpcPort}-`;
  const httpUrl = `http://127.0.0.1:${httpPort}`;
  const server = await startServer({
    name: 'triton',
    command: program.server,
    args: [
      `--model-repository=${modelRepository}`,
      `--backend-directory=${program.backends}`,
      '--model-control-mode=explicit',
      ...models.map((model) => `--load-model=${model}`),
      ...[`--grpc-port=${grpcPort}`, `--http-port=${httpPort}`, `--metrics-port=${metricsPort}`],
      ...['--grpc-address=127.0.0.1', '--http-address=127.0.0.1', '--metrics-address=127.0.0.1'],
      // Else a client that pings every 10 s, as ours does, is sent away with ENHANCE_YOUR_CALM.
      ...['--grpc-http2-min-recv-ping-interval-without-data=5000', '--grpc-http2-max-ping-strikes=0'],
      `--backend-config=python,shm-region-prefix-name=${shmPrefix}`,
      '--backend-config=python,shm-default-byte-size=1048576',
      '--disable-auto-complete-config',
      '--strict-readiness=true',
      '--exit-timeout-secs=5',
      '--allow-gpu-metrics=false',
      ...(options.args ?? []),
    ],
    env: program.environment,
    ports: [grpcPort, httpPort, metricsPort],
    dataDir,
    shmPrefix,
    strayPrefix: ENVIRONMENTS,
    prepare: async () => {
      if (options.modelRepository !== undefined) return;
      // A copy: Python leaves compiled files beside what it runs, and a test may change a model of its own Triton.
      for (const folder of [TEST_MODELS, SHARED_PYTHON]) {
        await cp(committedPath(folder), join(dataDir, basename(folder)), { recursive: true });
      }
      if ([...models, ...(options.atHand ?? [])].some((model) => pipelineModels.includes(model))) {
        await layPipelines(modelRepository, program.packages, report);
      }
    },
    probe: () => askReady(httpUrl),
    readyTimeoutMs: READY_TIMEOUT_MS,
    stopTimeoutMs: STOP_TIMEOUT_MS,
  });
  return Object.assign(server, {
    grpcUrl: `127.0.0.1:${grpcPort}`,
    httpUrl,
    metricsUrl: `http://127.0.0.1:${metricsPort}/metrics`,
    shmPrefix,
    modelRepository,
  });
}

/** Models are folders; beside them may lie a golden file and the note of a pull, and Triton looks at neither. */
async function namesIn(own: string | undefined): Promise<string[]> {
  if (own !== undefined) return await modelsIn(own);
  return [...(await readdir(committedPath(TEST_MODELS))), ...pipelineModels];
}

async function askReady(httpUrl: string): Promise<void> {
  const response = await fetch(`${httpUrl}/v2/health/ready`, { signal: AbortSignal.timeout(QUESTION_TIMEOUT_MS) });
  await response.arrayBuffer();
  if (!response.ok) throw new Error(`health answers ${response.status}`);
}
