/**
 * All that `status` asks, opened by the worker's settings and asked side by side. What is not set up is not asked. Nothing is
 * made or changed in any of it, but for the group that reads the last dead letter and is deleted afterwards.
 */

import { secretSpellings } from '../../src/config/redact.ts';
import { inferenceSettings } from '../../src/config/sections/inference.ts';
import type { StatusConfig } from '../../src/config/tool-programs.ts';
import { isServingError } from '../../src/errors.ts';
import type { InferenceClient } from '../../src/inference/client.ts';
import { createGrpcInferenceClient } from '../../src/inference/grpc-client.ts';
import { groupState } from '../../src/kafka/group-control.ts';
import type { LogBounds } from '../../src/offsets/offset-reset.ts';
import { defaultBreakerPolicy } from '../../src/resilience/breaker.ts';
import type { RetryAdmin } from '../../src/retry/retry-admin.ts';
import { createRedactor } from '../../src/telemetry/redaction.ts';
import { modelServerTls } from '../model-server-tls.ts';
import { positionsOf } from '../offsets/positions.ts';
import { openRetryAdmin } from '../retries/open.ts';
import type { KafkaTool } from '../tool/kafka-tool.ts';
import { askEngine } from './engine-answer.ts';
import { FlowWindow } from './flow.ts';
import { LastLetterReader } from './last-letter.ts';
import type { DeadLetterCount, StatusReport } from './report.ts';
import { PolledSource, type Reading } from './source.ts';
import { askWorker } from './worker-answer.ts';

export type BoardOptions = {
  readonly config: StatusConfig;
  readonly kafka: KafkaTool;
  readonly workerUrls: readonly string[];
  readonly askEngines: boolean;
  /** Over how long rates are taken. */
  readonly windowMs: number;
  readonly nowMs: () => number;
};

/** Metadata of a model. */
const RECEIVE_LIMIT_BYTES = 4 * 1_048_576;
const NO_QUEUE: Reading<never> = { kind: 'off', reason: 'no durable queue by these settings' };

export class StatusBoard {
  readonly #options: BoardOptions;
  readonly #window: FlowWindow;
  readonly #offsets;
  readonly #members;
  readonly #deadLetters;
  readonly #letterReader: LastLetterReader;
  readonly #lastLetter;
  readonly #retries: PolledSource<Awaited<ReturnType<RetryAdmin['counts']>>> | undefined;
  readonly #retryAdmin: RetryAdmin | undefined;
  readonly #engines;
  readonly #engineClients: InferenceClient[] = [];
  readonly #workers;
  #letterBounds: ReadonlyMap<number, LogBounds> = new Map();

  constructor(options: BoardOptions) {
    const { config, kafka, workerUrls, askEngines, windowMs } = options;
    const { consumerGroup, topic } = config.kafka;
    const { deadLetterTopic } = config;
    const { admin, client, log } = kafka;
    const redactor = createRedactor({ secrets: secretSpellings(config) });
    const source = <T>(ask: (signal: AbortSignal) => Promise<T>) =>
      new PolledSource(ask, (text) => redactor.text(text));
    this.#options = options;
    this.#window = new FlowWindow(windowMs);
    this.#offsets = source(async () => {
      const positions = await positionsOf(admin, consumerGroup, topic);
      this.#window.add(positions, options.nowMs());
      return positions;
    });
    this.#members = source(() => groupState(admin, consumerGroup));
    this.#deadLetters = source(() => this.#countLetters());
    const reader = new LastLetterReader({ client, log, topic: deadLetterTopic, consumerGroup });
    this.#letterReader = reader;
    this.#lastLetter = source((signal) => reader.read(this.#letterBounds, signal));
    const { durable, maxAttempts } = config.retry;
    const retryAdmin = durable === undefined || maxAttempts === 1 ? undefined : openRetryAdmin(config, durable, log);
    this.#retryAdmin = retryAdmin;
    this.#retries = retryAdmin && source((signal) => retryAdmin.counts(signal));
    const { endpoints, modelName, tls } = config.inference;
    const tlsFiles = askEngines ? modelServerTls(tls, log) : undefined;
    this.#engines = (askEngines ? endpoints : []).map((target) => {
      const engine = createGrpcInferenceClient({
        target,
        targetSetting: inferenceSettings.batchIngestGrpcUrl.name,
        receiveLimitBytes: RECEIVE_LIMIT_BYTES,
        // Each question must reach the server: what is found out is how it answers now.
        breaker: { policy: defaultBreakerPolicy, failureCodes: [] },
        ...(tlsFiles !== undefined && { tls: tlsFiles }),
      });
      this.#engineClients.push(engine);
      return { target, source: source((signal) => askEngine(engine, modelName, signal)) };
    });
    const apiKey = config.apiKey?.reveal();
    this.#workers = workerUrls.map((url) => ({ url, source: source((signal) => askWorker(url, apiKey, signal)) }));
  }

  /** Resolves when all have answered, or it is known that they do not. The last dead letter comes later, on its own. */
  async look(signal: AbortSignal): Promise<void> {
    const { nowMs } = this.#options;
    const sources = [
      this.#offsets,
      this.#members,
      ...(this.#retries === undefined ? [] : [this.#retries]),
      ...[...this.#engines, ...this.#workers].map((one) => one.source),
    ];
    await Promise.all([
      ...sources.map((one) => one.look(nowMs, signal)),
      this.#deadLetters.look(nowMs, signal).then(() => void this.#lastLetter.look(nowMs, signal)),
    ]);
  }

  /** Offsets once more, for the rate. */
  lookAtOffsets(signal: AbortSignal): Promise<void> {
    return this.#offsets.look(this.#options.nowMs, signal);
  }

  /** Joins the look at the last dead letter that is going on. */
  lookAtLastLetter(signal: AbortSignal): Promise<void> {
    return this.#lastLetter.look(this.#options.nowMs, signal);
  }

  report(): StatusReport {
    const { config, nowMs } = this.#options;
    const show = <T>({ reading }: { readonly reading: Reading<T> }) => reading;
    return {
      atMs: nowMs(),
      group: config.kafka.consumerGroup,
      topic: config.kafka.topic,
      deadLetterTopic: config.deadLetterTopic,
      modelName: config.inference.modelName,
      offsets: show(this.#offsets),
      members: show(this.#members),
      flow: this.#offsets.reading.kind === 'known' ? this.#window.flow : undefined,
      retries: this.#retries === undefined ? NO_QUEUE : show(this.#retries),
      deadLetters: show(this.#deadLetters),
      lastLetter: show(this.#lastLetter),
      engines: this.#engines.map(({ target, source }) => ({ target, reading: show(source) })),
      workers: this.#workers.map(({ url, source }) => ({ url, reading: show(source) })),
    };
  }

  /** After the signal has aborted, or when nothing is looked at any more. */
  async close(): Promise<void> {
    for (const client of this.#engineClients) client.close();
    await Promise.all([this.#retryAdmin?.close(), this.#letterReader.ended()]);
  }

  async #countLetters(): Promise<DeadLetterCount> {
    const { kafka, config } = this.#options;
    try {
      const bounds = await kafka.admin.topicBounds(config.deadLetterTopic);
      this.#letterBounds = bounds;
      return { exists: true, count: [...bounds.values()].reduce((sum, { low, end }) => sum + (end - low), 0n) };
    } catch (error) {
      if (!isServingError(error, 'KAFKA_TOPIC_UNKNOWN')) throw error;
      this.#letterBounds = new Map();
      return { exists: false, count: 0n };
    }
  }
}
