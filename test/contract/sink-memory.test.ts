import { systemClock } from '../../src/clock.ts';
import { createSink } from '../../src/sinks/registry.ts';
import { silentLog } from '../../src/telemetry/log.ts';
import { describeSinkContract, type SinkHarness } from './sink-contract.ts';
import { describeSinkScan } from './sink-contract-scan.ts';

const harness: SinkHarness = {
  durable: false,
  traces: async () => [],
  create: (_, { tombstoneRetentionMs } = {}) =>
    createSink(
      { name: 'memory', options: tombstoneRetentionMs === undefined ? {} : { tombstoneRetentionMs } },
      silentLog,
      systemClock,
    ),
};
describeSinkContract('memory', harness);
describeSinkScan('memory', harness);
