/** A Redis sink for fault tests, with short limits, and a plain client beside it to break things with. */
import { Redis } from 'ioredis';
import { onTestFinished } from 'vitest';
import { systemClock } from '../../src/clock.ts';
import type { RedisSinkOptions } from '../../src/sinks/redis/options.ts';
import { createSink } from '../../src/sinks/registry.ts';
import type { Sink } from '../../src/sinks/sink.ts';
import { type Log, type LogFields, silentLog } from '../../src/telemetry/log.ts';
import { contractOf } from './sink-rows.ts';

export async function createRedisSink(options: RedisSinkOptions, log: Log = silentLog): Promise<Sink> {
  const limits = { connectTimeoutMs: 1_500, commandTimeoutMs: 1_000, closeTimeoutMs: 500 };
  const sink = await createSink({ name: 'redis', options: { ...limits, ...options } }, log, systemClock);
  onTestFinished(() => sink.close());
  return sink;
}

export async function openRedisSink(options: RedisSinkOptions, log: Log = silentLog): Promise<Sink> {
  const sink = await createRedisSink(options, log);
  await sink.open(contractOf());
  return sink;
}

export function plainClient(url: string): Redis {
  const client = new Redis(url);
  client.on('error', () => undefined);
  onTestFinished(() => client.disconnect());
  return client;
}

/** Keeps every line, with errors and their causes spelled out. */
export function recordingLog(): Log & { readonly lines: string[] } {
  const lines: string[] = [];
  const record = (message: string, fields: LogFields = {}) => void lines.push(`${message} ${spell(fields)}`);
  const log = { debug: record, info: record, warn: record, error: record, child: () => log, lines };
  return log;
}

/** Everything an error or a value would show to a logger that prints too much. */
export function spell(value: unknown): string {
  const seen = new Set<unknown>();
  return JSON.stringify(value, (_, part: unknown) => {
    if (typeof part === 'bigint') return String(part);
    if (!(part instanceof Error) || seen.has(part)) return part;
    seen.add(part);
    return { ...part, name: part.name, message: part.message, stack: part.stack, cause: part.cause };
  });
}
