/**
 * kafkajs's own log lines, in ours. Only named scalar fields pass, for kafkajs also logs payloads and stacks; its errors
 * become warnings, because what matters of them reaches us as an error or event and is reported there.
 */
import kafkajs, { type logCreator } from 'kafkajs';
import type { Log, LogFields } from '../telemetry/log.ts';
import type { ConnectionTroubles } from './connection-troubles.ts';

const FIELDS = [
  'broker',
  'groupId',
  'memberId',
  'generationId',
  'topic',
  'partition',
  'error',
  'retryCount',
  'retryTime',
  'duration',
] as const;

export function logBridge(log: Log, troubles: ConnectionTroubles): logCreator {
  return () =>
    ({ namespace, level, log: entry }) => {
      const fields: Record<string, unknown> = { namespace, says: entry.message };
      for (const name of FIELDS) {
        const value: unknown = entry[name];
        if (typeof value === 'string' || typeof value === 'number') fields[name] = value;
      }
      if (namespace === 'Connection' && level === kafkajs.logLevel.ERROR) {
        troubles.note(typeof entry.error === 'string' ? entry.error : entry.message);
      }
      // Each failed answer of a broker, rebalances included; the caller is told of it by an error as well.
      write(log, namespace === 'Connection' ? kafkajs.logLevel.DEBUG : level, fields);
    };
}

function write(log: Log, level: number, fields: LogFields): void {
  if (level <= kafkajs.logLevel.WARN) log.warn('kafka client', fields);
  else log.debug('kafka client', fields);
}
