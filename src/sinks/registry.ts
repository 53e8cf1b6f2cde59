/**
 * Sink name → sink. A store's library is loaded only when its sink is chosen: LanceDB alone brings 100 MB of native code.
 */
import type { Clock } from '../clock.ts';
import type { Log } from '../telemetry/log.ts';
import type { KafkaTopicSinkOptions } from './kafka-topic/options.ts';
import type { LanceDbSinkOptions } from './lancedb/options.ts';
import type { MemorySinkOptions } from './memory/sink.ts';
import type { ModuleSinkOptions } from './module/load.ts';
import { observed } from './observed.ts';
import type { SinkObserver } from './observer.ts';
import type { PgVectorSinkOptions } from './pgvector/options.ts';
import type { RedisSinkOptions } from './redis/options.ts';
import type { Sink } from './sink.ts';

/** A sink, named as in the setting RAG_SERVING_SINK, and its own options. `memory` keeps rows until the process ends: for tests and benchmarks only. */
export type SingleSinkChoice =
  | { readonly name: 'lancedb'; readonly options: LanceDbSinkOptions }
  | { readonly name: 'redis'; readonly options: RedisSinkOptions }
  | { readonly name: 'pgvector'; readonly options: PgVectorSinkOptions }
  | { readonly name: 'kafka-topic'; readonly options: KafkaTopicSinkOptions }
  | { readonly name: 'module'; readonly options: ModuleSinkOptions }
  | { readonly name: 'memory'; readonly options?: MemorySinkOptions };

/** One store, or several that all get every row. */
export type SinkChoice = SingleSinkChoice | { readonly name: 'fan-out'; readonly members: readonly SingleSinkChoice[] };

/** Makes the sink and connects to nothing: `open` does. */
export async function createSink(choice: SinkChoice, log: Log, clock: Clock, observer?: SinkObserver): Promise<Sink> {
  if (choice.name === 'fan-out') {
    const { FanOutSink } = await import('./fan-out/sink.ts');
    const members = await Promise.all(choice.members.map((member) => createSink(member, log, clock, observer)));
    return new FanOutSink(members, log);
  }
  const sink = await createSingle(choice, log.child({ sink: choice.name }), clock, observer);
  return observer === undefined ? sink : observed(sink, observer, clock);
}

async function createSingle(
  choice: SingleSinkChoice,
  sinkLog: Log,
  clock: Clock,
  observer: SinkObserver | undefined,
): Promise<Sink> {
  switch (choice.name) {
    case 'lancedb': {
      const { LanceDbSink } = await import('./lancedb/sink.ts');
      return new LanceDbSink({ ...choice.options, ...(observer && { onTable: observer.tableIs }) }, sinkLog, clock);
    }
    case 'redis': {
      const { RedisSink } = await import('./redis/sink.ts');
      return new RedisSink(choice.options, sinkLog, clock);
    }
    case 'pgvector': {
      const { PgVectorSink } = await import('./pgvector/sink.ts');
      return new PgVectorSink(choice.options, sinkLog, clock);
    }
    case 'kafka-topic': {
      const { KafkaTopicSink } = await import('./kafka-topic/sink.ts');
      return new KafkaTopicSink(choice.options, sinkLog);
    }
    case 'module': {
      const { loadModuleSink } = await import('./module/load.ts');
      return loadModuleSink(choice.options, sinkLog);
    }
    case 'memory': {
      const { MemorySink } = await import('./memory/sink.ts');
      return new MemorySink(choice.options ?? {}, clock);
    }
  }
}
