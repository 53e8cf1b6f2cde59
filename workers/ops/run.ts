/**
 * The ops sidecar from start to end: it listens at once, looks at Triton at intervals, and after a signal goes on answering
 * (not ready) for as long as Triton still works off what it has.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { systemClock } from '../../src/clock.ts';
import type { OpsConfig } from '../../src/config/programs.ts';
import { inferenceSettings } from '../../src/config/sections/inference.ts';
import type { InferenceClient } from '../../src/inference/client.ts';
import { createGrpcInferenceClient } from '../../src/inference/grpc-client.ts';
import { logPoolEvent } from '../../src/inference/pool-log.ts';
import { PhaseTracker } from '../../src/lifecycle/phase.ts';
import { programStatus } from '../../src/ops/program-status.ts';
import { type Check, CheckBoard } from '../../src/ops/readiness.ts';
import { startOpsServer } from '../../src/ops/server.ts';
import type { StatusSnapshot } from '../../src/ops/status-schema.ts';
import { packageVersion } from '../../src/package-version.ts';
import { defaultBreakerPolicy } from '../../src/resilience/breaker.ts';
import type { Log } from '../../src/telemetry/log.ts';
import { createMetrics } from '../../src/telemetry/metrics.ts';
import type { Redactor } from '../../src/telemetry/redaction.ts';
import { exitCodes } from '../exit-codes.ts';
import { readGolden } from '../golden-path.ts';
import { modelServerTls } from '../model-server-tls.ts';
import { ModelServerWatch, vramLimits } from '../model-server-watch.ts';
import { watchReadiness } from '../readiness-gauges.ts';
import { listenForStop, type StopSignals, untilAborted } from '../signals.ts';
import { GoldenWatch } from './golden-watch.ts';

/** One row of any model, or a batch of golden texts. */
const RECEIVE_LIMIT_BYTES = 64 * 1_048_576;
const GOLDEN = 'golden';
const LOOK_FOR_TRITON_MS = 250;

export async function runOps(config: OpsConfig, log: Log, redactor: Redactor): Promise<number> {
  const { goldenFile } = config.readiness;
  const golden = goldenFile === undefined ? undefined : await readGolden(goldenFile);
  const signals = listenForStop();
  const metrics = createMetrics({ pool: config.pool, processMetrics: true });
  const now = () => systemClock.wallMs();
  const startedMs = systemClock.monotonicMs();
  const phase = new PhaseTracker(now(), ({ from, to }) => {
    metrics.setPhase(to);
    log.info('phase', { from, to });
  });
  metrics.setPhase('starting');
  const client = openClient(config, log);
  const watch = openWatch(config, client);
  const { modelName: model } = config.inference;
  const goldenWatch = golden === undefined ? undefined : new GoldenWatch({ golden, client, model, log });
  const board = new CheckBoard([...watch.checkNames, ...(goldenWatch === undefined ? [] : [GOLDEN])], now());
  const readChecks = () => {
    watch.report(board, now(), log);
    goldenWatch?.see(watch.look, signals.stopping);
    if (goldenWatch !== undefined) board.set(GOLDEN, goldenWatch.result.state, goldenWatch.result.reason, now());
    return board.checks;
  };
  watchReadiness(metrics, readChecks, () => watch.vram);

  const ops = await startOpsServer({
    ...config.server,
    apiKey: config.server.apiKey?.reveal(),
    snapshot: () => ({ phase: phase.current, checks: readChecks() }),
    status: () => statusOf(config, watch, { phase, checks: readChecks(), startedMs }),
    metrics,
    redact: redactor.text,
    onFault: (error) => log.error('ops server failed to answer', { error }),
  });
  log.info('ops server listens', { host: config.server.host, port: ops.port });
  // A look at nobody takes its time; whoever wants to stop does not wait for it.
  await Promise.race([watch.start(), untilAborted(signals.stopping)]);
  if (!signals.stopping.aborted) phase.move('running', now());
  const reading = setInterval(readChecks, config.readiness.intervalMs);
  await untilAborted(signals.stopping);

  phase.move('draining', now());
  log.info('stopping', { signal: signals.received() });
  await linger(watch, signals, config.readiness.lingerMs);
  clearInterval(reading);
  watch.stop();
  client.close();
  phase.move('stopped', now());
  await ops.close();
  metrics.close();
  return exitCodes.done;
}

function openClient({ inference }: OpsConfig, log: Log): InferenceClient {
  const tls = modelServerTls(inference.tls, log);
  return createGrpcInferenceClient({
    target: inference.tritonGrpcUrl.join(','),
    targetSetting: inferenceSettings.tritonGrpcUrl.name,
    receiveLimitBytes: RECEIVE_LIMIT_BYTES,
    // A look must reach the server each time: no failure may keep the next one away.
    breaker: { policy: defaultBreakerPolicy, failureCodes: [] },
    onEvent: (event) => logPoolEvent(log, event),
    ...(tls === undefined ? {} : { tls }),
  });
}

function openWatch({ readiness, platform }: OpsConfig, client: InferenceClient): ModelServerWatch {
  return new ModelServerWatch({
    ...readiness,
    client,
    limits: vramLimits(platform),
  });
}

function statusOf(
  { pool, workerId, inference }: OpsConfig,
  watch: ModelServerWatch,
  { phase, checks, startedMs }: { phase: PhaseTracker; checks: readonly Check[]; startedMs: number },
): StatusSnapshot {
  const now = { nowMs: systemClock.wallMs(), uptimeMs: systemClock.monotonicMs() - startedMs };
  return {
    ...programStatus({ program: 'ops', pool, worker: workerId, version: packageVersion() }, phase, checks, now),
    modelServer: { target: inference.tritonGrpcUrl.join(','), models: watch.models, breakers: [] },
    vram: watch.vram,
    ingest: null,
  };
}

/** Kubernetes signals all containers of a pod at once: whoever asks what Triton is doing then still gets an answer. */
async function linger(watch: ModelServerWatch, signals: StopSignals, lingerMs: number): Promise<void> {
  const end = systemClock.monotonicMs() + lingerMs;
  let hurry = false;
  signals.onHurry(() => {
    hurry = true;
  });
  while (!hurry && systemClock.monotonicMs() < end && (await watch.isLive())) await sleep(LOOK_FOR_TRITON_MS);
}
