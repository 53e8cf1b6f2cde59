/**
 * The ingest worker from start to end. Nothing is decided here about chunks or offsets: this file opens the parts in
 * order, connects them, waits for a reason to stop, and runs the drain list.
 */
import { systemClock } from '../../src/clock.ts';
import type { WorkerConfig } from '../../src/config/programs.ts';
import { asServingError, isServingError, type ServingError } from '../../src/errors.ts';
import { PaceBoard } from '../../src/lifecycle/pace.ts';
import { PhaseTracker } from '../../src/lifecycle/phase.ts';
import { CheckBoard } from '../../src/ops/readiness.ts';
import { startOpsServer } from '../../src/ops/server.ts';
import { packageVersion } from '../../src/package-version.ts';
import { defaultFailurePolicy } from '../../src/pipeline/failure-policy.ts';
import { type HoldReason, Holds } from '../../src/pipeline/holds.ts';
import { Pipeline } from '../../src/pipeline/pipeline.ts';
import { refuseWrongNorm } from '../../src/pipeline/soundness.ts';
import type { Log } from '../../src/telemetry/log.ts';
import type { GrpcCode } from '../../src/telemetry/metric-spec.ts';
import { createMetrics } from '../../src/telemetry/metrics.ts';
import { pipelineMetrics } from '../../src/telemetry/pipeline-metrics.ts';
import type { Redactor } from '../../src/telemetry/redaction.ts';
import { type ExitCode, exitCodes } from '../exit-codes.ts';
import { ModelServerWatch, vramLimits } from '../model-server-watch.ts';
import { watchReadiness } from '../readiness-gauges.ts';
import { openSchemaValues } from '../schema-values.ts';
import { listenForStop, untilAborted } from '../signals.ts';
import { consumerFault } from './consumer-check.ts';
import { openEngine } from './embed-transport.ts';
import { type Health, type OnBreaker, watchEngine } from './engine-connection.ts';
import { watchForEviction } from './eviction.ts';
import { watchGauges } from './gauges.ts';
import { openKafka } from './kafka.ts';
import { pipelineOptions } from './pipeline-options.ts';
import { openRetries } from './retries.ts';
import { retryRunner } from './retry-runner.ts';
import { drainWorker, type WorkerParts } from './shutdown.ts';
import { WorkerStatus } from './status.ts';
import { openStore } from './store.ts';
import { storeChecks, watchStores } from './store-watch.ts';
import { openTraces } from './traces.ts';
import { Activity, startWatchdog, watchLimits } from './watchdog.ts';
import { WorkInTime } from './work-in-time.ts';

const CHECKS = ['model-server', 'store', 'consumer', 'dead-letters', 'retries'] as const;
/** Only where values have schemas. */
const SCHEMA_REGISTRY = 'schema-registry';
type CheckName = (typeof CHECKS)[number] | typeof SCHEMA_REGISTRY;

/** While one of these fails, records wait it out. */
const STANDING = ['model-server', 'store', 'dead-letters', 'retries', SCHEMA_REGISTRY] as const;
/** Beyond the deadline of one attempt. */
const ANSWER_SLACK_MS = 5_000;

const CHECK_OF_HOLD = {
  engine: 'model-server',
  sink: 'store',
  'dead-letters': 'dead-letters',
  retries: 'retries',
} as const satisfies Record<HoldReason, CheckName>;

/** `enough`: another reason to stop than a signal, if there is one. */
export async function runWorker(
  config: WorkerConfig,
  log: Log,
  redactor: Redactor,
  enough?: AbortSignal,
): Promise<ExitCode> {
  const signals = listenForStop();
  const metrics = createMetrics({ pool: config.pool, version: packageVersion(), processMetrics: true });
  const wallMs = () => systemClock.wallMs();
  // Inferences are the worker's daily work; the watch asks for what they do not tell.
  const triton = new ModelServerWatch({ ...config.readiness, client: undefined, limits: vramLimits(config.platform) });
  const checkNames: readonly string[] = config.schemas === undefined ? CHECKS : [...CHECKS, SCHEMA_REGISTRY];
  const board = new CheckBoard([...checkNames, ...storeChecks(config.sink), ...triton.checkNames], wallMs());
  const phase = new PhaseTracker(wallMs(), ({ from, to }) => {
    metrics.setPhase(to);
    log.info('phase', { from, to });
  });
  metrics.setPhase('starting');
  const health = (name: CheckName): Health => ({
    pass: () => board.pass(name, wallMs()),
    fail: (reason) => board.fail(name, reason, wallMs()),
  });
  const parts: WorkerParts = {};
  const activity = new Activity();
  const consumerLimits = {
    silentMs: watchLimits(config).silentMs,
    quietMs: config.inference.timeoutMs + ANSWER_SLACK_MS,
  };
  const readChecks = () => {
    const status = parts.source?.status();
    if (status !== undefined) {
      const inFlight = parts.pipeline?.inFlight ?? 0;
      const excused = STANDING.some((name) => board.fails(name));
      const fault = consumerFault({ status, inFlight, quietMs: activity.quietMs, excused }, consumerLimits);
      if (fault === undefined) health('consumer').pass();
      else health('consumer').fail(fault);
    }
    triton.report(board, wallMs(), log);
    return board.checks;
  };
  watchReadiness(metrics, readChecks, () => triton.vram);
  const workerStatus = new WorkerStatus(config, { phase, readChecks, parts, triton });
  const paceBoard = new PaceBoard();
  const fatal = new AbortController();
  const fail = (error: ServingError) => {
    if (!phase.fail(error, wallMs())) return;
    log.error('the worker cannot go on', { code: error.code, error });
    fatal.abort(error);
  };

  const ops = await startOpsServer({
    ...config.server,
    apiKey: config.server.apiKey?.reveal(),
    snapshot: () => ({ phase: phase.current, checks: readChecks() }),
    // Only what a restart heals: the worker then ends by itself, and this is for the case that it cannot.
    status: () => workerStatus.snapshot(),
    stalled: () => (isServingError(phase.failure, 'WORKER_STALLED') ? phase.failure.message : undefined),
    metrics,
    redact: redactor.text,
    onFault: (error) => log.error('ops server failed to answer', { error }),
  });
  log.info('ops server listens', { host: config.server.host, port: ops.port });
  if (triton.checkNames.length > 0) void triton.start();
  const eviction = watchForEviction(config.spot, metrics, log);
  const asked = AbortSignal.any([signals.stopping, eviction.noticed, ...(enough === undefined ? [] : [enough])]);
  const stop = AbortSignal.any([asked, fatal.signal]);

  try {
    await start(stop);
    if (phase.current === 'starting') phase.move('running', wallMs());
    await untilAborted(stop);
  } catch (error) {
    if (!asked.aborted) fail(asServingError(error));
  }

  const failed = phase.current === 'failed';
  if (!failed) phase.move('draining', wallMs());
  const reasons = { signals, eviction, timeoutMs: config.pipeline.drainTimeoutMs, failed };
  const abandoned = await drainWorker(parts, reasons, paceBoard, metrics, log);
  await eviction.close(!failed && eviction.noticed.aborted);
  if (!failed) phase.move('stopped', wallMs());
  workerStatus.stop();
  triton.stop();
  await ops.close();
  metrics.close();
  if (failed) return exitCodes.failed;
  return abandoned > 0 ? exitCodes.unfinished : exitCodes.done;

  async function start(signal: AbortSignal): Promise<void> {
    const onBreaker: OnBreaker = (endpoint, state) => {
      metrics.setBreaker(endpoint, state);
      workerStatus.breaker(endpoint, state);
    };
    const onCallEnd = (method: string, code: string) => metrics.grpcCalls.add({ method, code: code as GrpcCode });
    const onLeft = (endpoint: string) => {
      metrics.dropBreaker(endpoint);
      workerStatus.breakerGone(endpoint);
    };
    const watching = { health: health('model-server'), onBreaker, onCallEnd, onLeft };
    const { engine, transport, maxBatch, memory } = await openEngine(config, watching, log, signal);
    parts.client = engine.client;
    workerStatus.contract = engine.contract;
    if (memory !== undefined) parts.memory = memory;
    await refuseWrongNorm({ transport, contract: engine.contract, norm: config.pipeline.vectorNorm }, signal);
    const stores = watchStores(config.sink, board, metrics, wallMs);
    parts.sink = await openStore(config.sink, engine.contract, health('store'), log, signal, stores);
    const traces = await openTraces(config, log);
    if (traces !== undefined) parts.traces = traces;
    const schemas = await openSchemaValues(config.schemas, health(SCHEMA_REGISTRY), log, signal);
    const onCommit = (tookMs: number, error: ServingError | undefined) => {
      if (error === undefined) paceBoard.commit.add(tookMs);
      traces?.traces.committed(wallMs() - tookMs, error?.code);
    };
    const kafka = openKafka(config, schemas?.values, metrics, log, onCommit, parts.sink.commits);
    parts.deadLetters = kafka.deadLetters;
    health('dead-letters').pass();
    const retries = await openRetries(config, kafka.client, log, metrics, (counts) =>
      workerStatus.retriesCounted(counts),
    );
    if (retries !== undefined) parts.retries = retries;
    health('retries').pass();
    const source = kafka.source;
    parts.source = source;
    const holds = new Holds({
      pause: (reason) => {
        health(CHECK_OF_HOLD[reason]).fail('attempts fail and are repeated');
        source.pause(reason);
      },
      resume: (reason) => {
        health(CHECK_OF_HOLD[reason]).pass();
        source.resume(reason);
      },
    });
    // A model that says it is ready is not well while calls to it fail.
    const watched = health('model-server');
    const pass = () => void (holds.reasons.includes('engine') || watched.pass());
    // A batch that waits for the model server would not fit either, once others do not.
    const isRepeating = () => holds.reasons.some((reason) => reason !== 'engine');
    const work = new WorkInTime({ clock: systemClock, board: paceBoard, isRepeating });
    parts.work = work;
    const engineWatch = watchEngine(
      engine,
      config.readiness,
      { ...watched, pass },
      {
        onReplaced: (silentMs) => {
          metrics.watchdogActions.add({ finding: 'channel-wedged', action: 'rebuild' });
          log.warn('watchdog: the connection to the model server was replaced', { silentMs: Math.round(silentMs) });
        },
        onStalled: (error) => {
          metrics.watchdogActions.add({ finding: 'channel-wedged', action: 'stop' });
          fail(error);
        },
      },
    );
    const pipeline = new Pipeline({
      transport: work.transport(transport),
      contract: engine.contract,
      sink: work.sink(parts.sink),
      deadLetters: kafka.deadLetters,
      retries,
      traces: traces?.traces,
      surroundings: {
        policy: defaultFailurePolicy,
        holds,
        observer: workerStatus.tallying(activity.counting(pipelineMetrics(metrics))),
        log,
        clock: systemClock,
      },
      ...pipelineOptions(config, maxBatch),
      onFatal: fail,
    });
    parts.pipeline = pipeline;
    const gauges = watchGauges(metrics, { source, memory, lag: kafka.lag }, log, (lag) => workerStatus.lagRead(lag));
    parts.lag = {
      stop: () => {
        gauges.stop();
        return kafka.closeLag();
      },
    };
    // A machine that is on its way out does not join the group only to leave it again.
    await eviction.looked(signal);
    signal.throwIfAborted();
    const watchdog = startWatchdog({
      limits: watchLimits(config),
      activity,
      source,
      pipeline,
      kafka,
      excuse: () => {
        if (phase.current !== 'running') return phase.current;
        return holds.reasons[0] ?? (['model-server', SCHEMA_REGISTRY] as const).find((name) => board.fails(name));
      },
      metrics,
      log,
      onStalled: fail,
    });
    parts.watch = {
      stop: () => {
        engineWatch.stop();
        watchdog.stop();
      },
    };
    await retries?.start(retryRunner(pipeline, kafka.decode));
    const started = source.start({
      onRecords: (records) => {
        activity.note();
        pipeline.accept(records);
      },
      onAssigned: () => metrics.rebalances.add({}),
      onRevoked: (partitions) => pipeline.revoke(partitions),
      onFatal: (error) => fail(asServingError(error)),
    });
    // Joining takes its time when the broker is away; whoever wants to stop does not wait for it.
    await Promise.race([started, untilAborted(signal)]);
    signal.throwIfAborted();
  }
}
