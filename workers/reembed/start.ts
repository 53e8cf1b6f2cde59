/**
 * `rag-serving reembed start`: fills a new collection with another model's vectors while the old one goes on being filled
 * and read. From the topic it is a worker with a group and a collection of its own; from stored text it first copies what
 * is older than the old group's commits, and then is such a worker from there on.
 *
 * Surprising: it does not follow the topic while it copies. A deletion that comes before the row it is meant for would
 * find nothing, and the row would come back with the copy.
 */
import { systemClock } from '../../src/clock.ts';
import type { Env } from '../../src/config/env-reader.ts';
import { readReembedConfig, type WorkerConfig } from '../../src/config/programs.ts';
import { ServingError } from '../../src/errors.ts';
import { moveOffsets, offsetsAt, refuseLiveGroup } from '../../src/kafka/group-control.ts';
import { refuseWrongNorm } from '../../src/pipeline/soundness.ts';
import { type Changeover, type Run, readChangeover, updateChangeover } from '../../src/sinks/changeover.ts';
import type { Log } from '../../src/telemetry/log.ts';
import type { Redactor } from '../../src/telemetry/redaction.ts';
import { type ExitCode, exitCodes } from '../exit-codes.ts';
import { positionsOf } from '../offsets/positions.ts';
import { listenForStop } from '../signals.ts';
import { startLogged } from '../start-logged.ts';
import { openEngine } from '../worker/embed-transport.ts';
import { connectEngine, type EngineWatchers } from '../worker/engine-connection.ts';
import { openStore } from '../worker/store.ts';
import { type CopyState, copyStored } from './copy.ts';
import { follow } from './follow.ts';
import { look, type OpenedStore, withStore } from './open.ts';
import { groupOf, refuseName, shadowConfig } from './shadow.ts';

export type StartFlags = {
  readonly to: string;
  readonly from: 'topic' | 'store';
  readonly since?: number;
  readonly untilCaughtUp?: true;
  readonly sameModel?: true;
  readonly opsPort: number;
};

const unwatched: EngineWatchers = {
  health: { pass: () => {}, fail: () => {} },
  onBreaker: () => {},
  onCallEnd: () => {},
  onLeft: () => {},
};

export async function runStart(flags: StartFlags, env: Env): Promise<ExitCode> {
  const config = readReembedConfig(env);
  if (flags.from === 'topic' && config.kafka.bootstrapServers.length === 0) {
    throw new ServingError(
      'CONFIG_INVALID',
      'KAFKA_BOOTSTRAP_SERVERS is unset: --from topic reads the topic; or copy stored text with --from store',
    );
  }
  if (flags.since !== undefined && flags.from !== 'topic') {
    throw new ServingError('ARGUMENT_INVALID', '--since is a place in the topic: it goes with --from topic');
  }
  const { log, redactor } = startLogged(config, 'rag-serving-reembed');
  const { stopping } = listenForStop();
  try {
    return await withStore(config, log, (opened) => start(flags, opened, redactor, stopping));
  } catch (error) {
    if (!stopping.aborted) throw error;
    log.info('interrupted: run it again, it goes on where it was');
    return exitCodes.unfinished;
  }
}

async function start(
  flags: StartFlags,
  opened: OpenedStore,
  redactor: Redactor,
  signal: AbortSignal,
): Promise<ExitCode> {
  const { config, admin, base, kafka, log } = opened;
  const before = await readChangeover(admin, base, signal);
  const source = before.current ?? base;
  if (!(flags.to in before.runs)) refuseName(config.sink, flags.to, [base, source]);
  const shadow = shadowConfig(config, flags.to, flags.opsPort);
  const fingerprint = await fingerprintOf(config, log, signal);
  const run = await begin(flags, opened, before, fingerprint, signal);
  log.info('reembed', { base, source, to: flags.to, from: run.from, phase: run.phase, fingerprint });
  if (run.from === 'store' && run.phase !== 'following') {
    const end = await copy(flags.to, opened, source, shadow, run, signal);
    log.info('stored text is copied', { to: flags.to, ...end, token: undefined });
    if (kafka === undefined) return end.withoutText + end.refused === 0 ? exitCodes.done : exitCodes.failed;
    await refuseLiveGroup(kafka, shadow.kafka.consumerGroup);
    const offsets = new Map(Object.entries(run.startOffsets).map(([one, offset]) => [Number(one), BigInt(offset)]));
    await moveOffsets(kafka, shadow.kafka.consumerGroup, config.kafka.topic, offsets);
    await change(opened, flags.to, { phase: 'following' }, signal);
  } else if (flags.since !== undefined && kafka !== undefined) {
    const { consumerGroup, topic } = shadow.kafka;
    const held = await kafka.committedOffsets(consumerGroup, topic);
    if ([...held.values()].every((offset) => offset < 0n)) {
      await moveOffsets(kafka, consumerGroup, topic, await offsetsAt(kafka, topic, flags.since));
    }
  }
  return follow(shadow, { untilCaughtUp: flags.untilCaughtUp === true }, log, redactor, signal);
}

async function fingerprintOf(config: WorkerConfig, log: Log, signal: AbortSignal): Promise<string> {
  const { client, contract } = await connectEngine(config.inference, unwatched, log, signal);
  client.close();
  return contract.fingerprint;
}

/** The run as it is recorded: one that was begun before, or a new one, refused where it could only go wrong. */
async function begin(
  flags: StartFlags,
  opened: OpenedStore,
  before: Changeover,
  fingerprint: string,
  signal: AbortSignal,
): Promise<Run> {
  const known = before.runs[flags.to];
  if (known !== undefined) {
    if (known.from === flags.from && known.fingerprint === fingerprint) return known;
    const what =
      known.from === flags.from
        ? `a model with fingerprint ${known.fingerprint}, this one has ${fingerprint}`
        : `--from ${known.from}`;
    throw new ServingError(
      'ARGUMENT_INVALID',
      `${flags.to} was begun with ${what}: go on with that, or drop it (rag-serving reembed drop --collection ${flags.to})`,
    );
  }
  const source = before.current ?? opened.base;
  const [old, there] = [await look(opened, source, signal), await look(opened, flags.to, signal)];
  try {
    if (old === undefined)
      throw new ServingError(
        'ARGUMENT_INVALID',
        `collection ${source} does not exist: there is nothing to take the place of`,
      );
    if (old.description.fingerprint === fingerprint && flags.sameModel !== true) {
      throw new ServingError(
        'MODEL_CONTRACT_MISMATCH',
        `${old.description.collection} holds vectors of this very model (${fingerprint}): point RAG_SERVING_BATCH_INGEST_GRPC_URL at the new model's server, or add --same-model`,
      );
    }
    if (there !== undefined && there.description.rows > 0) {
      throw new ServingError(
        'ARGUMENT_INVALID',
        `${there.description.collection} has ${there.description.rows} rows that no reembed of ${opened.base} wrote: name another collection in --to`,
      );
    }
    if (flags.from === 'store') await refuseTextless(old.sink, signal);
  } finally {
    await Promise.all([old?.sink.close(), there?.sink.close()]);
  }
  const startOffsets =
    flags.from === 'store'
      ? await startOffsetsOf(opened, groupOf(opened.config.kafka.consumerGroup, source, before))
      : {};
  const run: Run = {
    from: flags.from,
    fingerprint,
    startedAtMs: systemClock.wallMs(),
    phase: flags.from === 'store' ? 'copying' : 'following',
    startOffsets,
    ...{ token: null, copied: 0, withoutText: 0, refused: 0 },
  };
  await updateChangeover(
    opened.admin,
    opened.base,
    (now) => ({ ...now, runs: { ...now.runs, [flags.to]: run } }),
    signal,
  );
  return run;
}

/** Everything that the old group has committed is stored; what comes after it is read from the topic. */
async function startOffsetsOf({ kafka, config, log }: OpenedStore, group: string): Promise<Run['startOffsets']> {
  if (kafka === undefined) return {};
  const positions = await positionsOf(kafka, group, config.kafka.topic);
  if (positions.every(({ committed }) => committed === undefined)) {
    log.warn('this group has committed nothing: all that the topic holds is read again', { group });
  }
  return Object.fromEntries(
    positions.map(({ partition, committed, low }) => [
      partition,
      String(committed === undefined || committed < low ? low : committed),
    ]),
  );
}

async function refuseTextless(
  sink: NonNullable<Awaited<ReturnType<typeof look>>>['sink'],
  signal: AbortSignal,
): Promise<void> {
  const { rows } = (await sink.scan?.(undefined, 100, signal)) ?? { rows: [] };
  if (rows.length === 0 || rows.some(({ text }) => text !== undefined)) return;
  throw new ServingError(
    'ARGUMENT_INVALID',
    'the collection holds no text (RAG_SERVING_STORE_TEXT was false): use --from topic',
  );
}

async function copy(
  to: string,
  opened: OpenedStore,
  source: string,
  shadow: WorkerConfig,
  run: Run,
  signal: AbortSignal,
): Promise<CopyState> {
  const { config, kafka, log } = opened;
  const old = await look(opened, source, signal);
  if (old === undefined) throw new ServingError('ARGUMENT_INVALID', `collection ${source} does not exist any more`);
  const engine = await openEngine(shadow, unwatched, log, signal);
  try {
    const { transport, engine: connection } = engine;
    await refuseWrongNorm({ transport, contract: connection.contract, norm: config.pipeline.vectorNorm }, signal);
    const target = await openStore(shadow.sink, connection.contract, unwatched.health, log, signal);
    try {
      const parts = { config: shadow, engine: { ...connection, ...engine }, from: old.sink, to: target, log };
      const topic = kafka === undefined ? undefined : config.kafka.topic;
      // A copy that ended before begins anew: only what is missing is embedded.
      const from = run.phase === 'copied' ? { ...run, token: null } : run;
      const save = (state: CopyState) => change(opened, to, state, signal);
      const end = await copyStored({ ...parts, topic }, from, save, signal);
      if (kafka === undefined) await change(opened, to, { phase: 'copied' }, signal);
      return end;
    } finally {
      await target.close();
    }
  } finally {
    await engine.memory?.close();
    engine.engine.client.close();
    await old.sink.close();
  }
}

async function change(
  { admin, base }: OpenedStore,
  to: string,
  what: Partial<Run>,
  signal: AbortSignal,
): Promise<void> {
  const apply = (now: Changeover): Changeover | undefined => {
    const run = now.runs[to];
    if (run === undefined) throw new ServingError('ARGUMENT_INVALID', `${to} was dropped meanwhile`);
    return { ...now, runs: { ...now.runs, [to]: { ...run, ...what } } };
  };
  await updateChangeover(admin, base, apply, signal);
}
