import { systemClock } from '../../src/clock.ts';
import { createSink } from '../../src/sinks/registry.ts';
import { silentLog } from '../../src/telemetry/log.ts';
import { describeSinkContract } from './sink-contract.ts';

describeSinkContract('memory', {
  durable: false,
  traces: async () => [],
  create: (_, { tombstoneRetentionMs } = {}) =>
    createSink(
      { name: 'memory', options: tombstoneRetentionMs === undefined ? {} : { tombstoneRetentionMs } },
      silentLog,
      systemClock,
    ),
});
