/**
 * One chaos run: load that never ends, round after round of faults, a comparison after each round, a full one every few,
 * and the numbers at the end. Faults of the product do not end it, so that one run tells of all of them.
 */
import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { endPrograms, eventually, TestTopic } from '../integration/worker/harness.ts';
import { ChaosBroker } from './broker.ts';
import { Checker } from './checker.ts';
import { countOf, type FaultSpan, readJournal, repeatedBy } from './journal.ts';
import { ProducedModel } from './model.ts';
import { startParts } from './parts.ts';
import { type Fault, planRounds, type Round, type Stroke } from './plan.ts';
import { type ChaosReport, writeReport } from './report.ts';
import { Sender } from './sender.ts';
import { type ChaosSettings, repeatCommand } from './settings.ts';
import { machineShm, ownShmMount, type ShmMount } from './shm-mount.ts';
import { openStore } from './store.ts';
import { Stream } from './stream.ts';
import { isVectorOf } from './vectors.ts';
import { World } from './world.ts';

const WORKERS = 3;
const PARTITIONS = 12;
const OUTPUT_PARTITIONS = 3;
const DOCUMENTS = 240;
const CHUNKS_PER_DOCUMENT = 20;
const SHM_MIB = 32;
const PREFIX = 'chaos:';
/** A killed member's session, a start and the work that has piled up, on a machine that has other things to do too. */
const QUIET_WITHIN_MS = 120_000;

export type ChaosOutcome = { readonly report: ChaosReport; readonly problems: readonly string[] };

export class ChaosRun {
  readonly #settings: ChaosSettings;
  readonly #say: (line: string) => void;
  readonly #startedMs = Date.now();
  readonly #closes: (() => Promise<unknown>)[] = [];
  readonly #problems: string[] = [];
  readonly #spans: FaultSpan[] = [];
  readonly #faults: Partial<Record<Fault, number>> = {};
  readonly #model: ProducedModel;
  readonly #journal: string;
  readonly #folder: string;
  readonly #workers: number;
  #watching = new AbortController();
  #watched: Promise<void> = Promise.resolve();
  #round = 0;
  #shmFilesLeft = 0;
  #mount!: ShmMount;
  #world!: World;
  #checker!: Checker;
  #sender!: Sender;

  constructor(settings: ChaosSettings, say: (line: string) => void) {
    this.#settings = settings;
    this.#say = say;
    this.#model = new ProducedModel(PARTITIONS, isVectorOf(settings.engine));
    // One process writes a LanceDB table.
    this.#workers = settings.sink === 'lancedb' ? 1 : WORKERS;
    const folder = mkdtempSync(join(tmpdir(), 'rag-chaos-'));
    this.#closes.push(async () => rmSync(folder, { recursive: true, force: true }));
    this.#folder = join(folder, 'store');
    this.#journal = join(folder, 'journal');
  }

  async run(): Promise<ChaosOutcome> {
    const { seed, rounds, checkEvery, sink } = this.#settings;
    this.#say(`the same again: ${repeatCommand(this.#settings)}`);
    await this.#start();
    let over: Promise<unknown>[] = [];
    for (const [index, round] of planRounds(seed, rounds, this.#workers, canBe(sink)).entries()) {
      this.#round = index + 1;
      over.push(this.#suffer(round));
      if (checkEvery === 1) await Promise.all(over);
      await sleep(round.pauseMs);
      if (this.#round % checkEvery !== 0 && this.#round !== rounds) continue;
      await Promise.all(over);
      over = [];
      await this.#checkWhenQuiet();
      if (this.#round !== rounds) this.#begin();
    }
    await this.#world.stop();
    await this.#countShmFiles();
    return this.#finish();
  }

  async close(): Promise<void> {
    this.#watching.abort();
    await Promise.allSettled([this.#watched, this.#sender?.end()]);
    await endPrograms();
    for (const close of this.#closes.splice(0).reverse()) await close();
  }

  async #start(): Promise<void> {
    const { engine, seed } = this.#settings;
    const noMount = (why: string) => this.#say(`no /dev/shm of our own (${why}): "shared memory full" is left out`);
    const onClose = (close: () => Promise<unknown>) => this.#closes.push(close);
    // Triton's own processes have their queues in /dev/shm too, and clean up only in that of the machine.
    this.#mount = engine === 'triton' ? machineShm : await ownShmMount(SHM_MIB, noMount);
    onClose(() => this.#mount.close());
    const parts = await startParts(this.#settings, this.#journal, this.#mount, onClose);
    const topic = new TestTopic(parts.kafka.bootstrapServers);
    await topic.create(PARTITIONS);
    const output = `${topic.topic}.out`;
    await topic.admin.ensureTopic(output, { partitions: OUTPUT_PARTITIONS });
    await topic.close();
    const broker = new ChaosBroker(parts.kafka.bootstrapServers, topic.topic, topic.group);
    onClose(() => broker.close());
    await broker.open();
    const store = openStore(this.#settings.sink, {
      port: parts.storePort,
      prefix: PREFIX,
      folder: this.#folder,
      topic: output,
    });
    onClose(() => store.close());
    const onFault = (says: string) => this.#fault(says);
    this.#checker = new Checker(this.#model, broker, store, onFault);
    const env = {
      ...topic.env(parts.env.KAFKA_BOOTSTRAP_SERVERS!),
      RAG_SERVING_REDIS_KEY_PREFIX: PREFIX,
      ...(this.#settings.sink === 'lancedb' ? { RAG_SERVING_LANCEDB_PATH: this.#folder } : {}),
      ...(this.#settings.sink === 'kafka-topic' ? { RAG_SERVING_KAFKA_SINK_TOPIC: output } : {}),
    };
    const idPrefix = `chaos-${randomBytes(3).toString('hex')}`;
    this.#world = new World(parts, this.#mount, idPrefix, this.#workers, env, onFault);
    await this.#world.start();
    const shape = { partitions: PARTITIONS, documents: DOCUMENTS, chunksPerDocument: CHUNKS_PER_DOCUMENT };
    this.#sender = new Sender(new Stream(seed, shape), broker, this.#model);
    this.#begin();
    this.#say(`started in ${this.#seconds()} s`);
  }

  async #suffer(round: Round): Promise<void> {
    const name = `${this.#round}/${this.#settings.rounds}`;
    const strokes = [this.#strike(round, name)];
    if (round.also !== undefined) {
      await sleep(round.also.afterMs);
      strokes.push(this.#strike(round.also, `${name} also`));
    }
    await Promise.all(strokes);
  }

  async #strike(stroke: Stroke, label: string): Promise<void> {
    const { fault, worker, lastsMs } = stroke;
    const whose = fault.startsWith('worker') || fault.startsWith('shared') ? ` (worker ${worker + 1})` : '';
    const name = `${label} ${fault}${whose}`;
    if (fault === 'shared memory full' && this.#mount.fill === undefined) return this.#say(`${name}: left out`);
    this.#faults[fault] = (this.#faults[fault] ?? 0) + 1;
    let span: FaultSpan | undefined;
    try {
      await this.#world.suffer(stroke, () => {
        this.#say(`${name} for ${lastsMs} ms`);
        span = { fault, fromMs: Date.now(), untilMs: Number.POSITIVE_INFINITY };
        this.#spans.push(span);
      });
    } catch (error) {
      this.#fault(`${name} could not be done: ${error instanceof Error ? error.message : String(error)}`);
    } finally {
      if (span !== undefined) span.untilMs = Date.now();
    }
  }

  #begin(): void {
    this.#sender.begin();
    this.#watching = new AbortController();
    this.#watched = this.#checker.watch(this.#watching.signal);
    // Whoever ends it hears of its failure.
    this.#watched.catch(() => undefined);
  }

  async #checkWhenQuiet(): Promise<void> {
    await this.#sender.end();
    const began = Date.now();
    await this.#world.untilReady();
    let left: string[] = [];
    const isDone = async () => (left = await this.#checker.unfinished()).length === 0;
    await eventually('all is committed', isDone, QUIET_WITHIN_MS, 250).catch((cause: unknown) => {
      throw new Error(`work stands still after round ${this.#round}: ${left.join('; ')}`, { cause });
    });
    this.#watching.abort();
    await this.#watched;
    await this.#checker.whenQuiet();
    await this.#countShmFiles();
    this.#say(
      `quiet after ${((Date.now() - began) / 1000).toFixed(1)} s, ${this.#checker.times} comparisons and ${this.#problems.length} problems so far`,
    );
  }

  async #countShmFiles(): Promise<void> {
    const left = await this.#world.shmFilesLeft();
    this.#shmFilesLeft += left.length;
    if (left.length > 0) this.#fault(`left in /dev/shm: ${left.join(', ')}`);
  }

  #fault(says: string): void {
    this.#problems.push(`round ${this.#round}: ${says}`);
    this.#say(`PROBLEM in round ${this.#round}: ${says}`);
    if (this.#problems.length === 1) this.#say(`the same again: ${repeatCommand(this.#settings)}`);
  }

  #finish(): ChaosOutcome {
    const repeated =
      this.#settings.engine === 'embedded'
        ? repeatedBy(readJournal(this.#journal), this.#model.copies, this.#spans)
        : undefined;
    const report: ChaosReport = {
      rounds: this.#round,
      ...this.#checker.counts,
      shmFilesLeft: this.#shmFilesLeft,
      reembeddedAfterKill: repeated === undefined ? null : countOf(repeated, 'kill'),
      reembeddedAfterRebalance: repeated === undefined ? null : countOf(repeated, 'rebalance'),
      seed: this.#settings.seed,
      seconds: this.#seconds(),
      faults: this.#faults,
    };
    this.#say(`${this.#model.revisions} revisions; embedded again: ${JSON.stringify([...(repeated ?? [])])}`);
    this.#say(`${writeReport(report)}: ${JSON.stringify(report)}`);
    return { report, problems: this.#problems };
  }

  #seconds(): number {
    return Math.round((Date.now() - this.#startedMs) / 1000);
  }
}

/**
 * A store that is no server of its own has no faults of its own; a second worker of LanceDB is refused. A broker that is killed
 * between the decision to commit and the markers that tell of it loses the markers (Kafka 4.4, one broker): no writer of
 * transactions can be exactly once then.
 */
function canBe(sink: ChaosSettings['sink']): (fault: Fault) => boolean {
  const cannot: readonly Fault[] =
    sink === 'lancedb' ? ['guest worker'] : sink === 'kafka-topic' ? ['broker killed'] : [];
  const isServer = sink === 'redis' || sink === 'pgvector';
  return (fault) => (isServer || !fault.startsWith('store')) && !cannot.includes(fault);
}
